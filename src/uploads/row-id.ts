import { v5 } from "uuid";

/** Bytes of a UUID. */
const uuidLength = 16;

/**
 * The id of the row with this key: a UUID of version 5, the same in every upload to the same dataset. RFC 9562, section
 * 5.5.
 */
export const createIdFromKey = (namespace: string, key: string): string =>
  v5(Buffer.from(`key:${key}`), uuidBytes(namespace));

/** The bytes that precede a row's content when its id is computed from the content with {@link createUuid5}. */
export const createContentPrefix = (namespace: string): Buffer =>
  Buffer.concat([uuidBytes(namespace), Buffer.from("content:")]);

/** The 16 bytes of a UUID of any version: as a text, `uuid` would refuse versions that it does not know. */
const uuidBytes = (id: string): Buffer => Buffer.from(id.replaceAll("-", ""), "hex");

/** A UUID of version 5; `bytes` is the namespace followed by the name, so that the caller need not divide them. */
export const createUuid5 = (bytes: Uint8Array): string =>
  v5(bytes.subarray(uuidLength), bytes.subarray(0, uuidLength));
