import { hash } from "node:crypto";

/** The id of the row with this key: the same in every upload to the same place. RFC 9562, section 5.5. */
export const idOfKey = (place: string, key: string): string =>
  idOfNamed(Buffer.concat([bytesOf(place), Buffer.from(`key:${key}`)]));

/** What stands before the content of a row where its id is taken of it: {@link idOfNamed} takes both. */
export const contentHead = (place: string): Buffer =>
  Buffer.concat([bytesOf(place), Buffer.from("content:")]);

/** Of a UUID of any version. */
const bytesOf = (id: string): Buffer => Buffer.from(id.replaceAll("-", ""), "hex");

/** Version 5 of a name that begins with the bytes of its namespace. RFC 9562, section 5.5. */
export function idOfNamed(bytes: Uint8Array): string {
  const hex = hash("sha1", bytes, "hex");
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
