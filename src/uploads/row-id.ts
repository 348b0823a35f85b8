import { hash } from "node:crypto";

/**
 * The id of the row with this key: a UUID of version 5, the same in every upload to the same dataset. RFC 9562, section
 * 5.5.
 */
export const createIdFromKey = (namespace: string, key: string): string =>
  createUuid5(Buffer.concat([uuidBytes(namespace), Buffer.from(`key:${key}`)]));

/** The bytes that precede a row's content when its id is computed from the content with {@link createUuid5}. */
export const createContentPrefix = (namespace: string): Buffer =>
  Buffer.concat([uuidBytes(namespace), Buffer.from("content:")]);

/** The 16 bytes of a UUID of any version. */
const uuidBytes = (id: string): Buffer => Buffer.from(id.replaceAll("-", ""), "hex");

/** A UUID of version 5; `bytes` is the namespace followed by the name. RFC 9562, section 5.5. */
export function createUuid5(bytes: Uint8Array): string {
  const hex = hash("sha1", bytes, "hex");
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
