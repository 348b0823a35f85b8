import { v5 } from "uuid";

/** Length of a UUID in bytes. */
const uuidSizeBytes = 16;

/**
 * Computes the id of a row from its key: a UUID of version 5 (RFC 9562, section 5.5), which is the same in every upload
 * to the same dataset.
 */
export const createIdFromKey = (namespace: string, key: string): string =>
  v5(Buffer.from(`key:${key}`), toUuidBytes(namespace));

/** Creates the bytes that precede a row's content when its id is computed from the content with {@link createUuid5}. */
export const createContentPrefix = (namespace: string): Buffer =>
  Buffer.concat([toUuidBytes(namespace), Buffer.from("content:")]);

/**
 * Converts a UUID of any version to its 16 bytes. The package `uuid` would refuse a UUID of a version that it does not
 * know.
 */
const toUuidBytes = (id: string): Buffer => Buffer.from(id.replaceAll("-", ""), "hex");

/**
 * Creates a UUID of version 5. `bytes` contains the namespace followed by the name. Both are passed in one array, so
 * that the caller need not split it.
 */
export const createUuid5 = (bytes: Uint8Array): string =>
  v5(bytes.subarray(uuidSizeBytes), bytes.subarray(0, uuidSizeBytes));
