/**
 * A payload field in pieces: what the server has seen before in the same trace is named by its digest and
 * not sent again. Written by `workers/piece-writer`, read by the local server; both read this file.
 *
 * The body of such a part is pieces one after another. A piece is a byte of {@link chunkCode}, then a
 * u32 length (little-endian) and so many bytes of JSON text, or a digest of {@link digestBytes} bytes.
 * The texts of all pieces, one behind the other, are the field's JSON, byte for byte.
 */
import { hash } from "node:crypto";

/** What is done with content that a trace holds more than once. */
export const contentDeduplications = ["inline", "once"] as const;

/** One of {@link contentDeduplications}. */
export type ContentDeduplicationMode = (typeof contentDeduplications)[number];

/** Content type of a part in pieces; any other part is JSON as it stands. */
export const chunksType = "application/vnd.millrace.pieces";

export const chunkCode = {
  /** Text that means nothing beyond itself. */
  text: 0x54,
  /** Text that is remembered by its digest. */
  kept: 0x4b,
  /** The digest of a kept text, or of an item. */
  same: 0x53,
  /**
   * The digest of a list: the text is `[` and its items, joined by commas. {@link noItems} is an empty
   * one. Items that follow at once belong to it, and each makes a longer list, which is remembered.
   */
  list: 0x4c,
  /** The text of one more item. A comma stands before it where it is not the first. */
  item: 0x49,
  /** The digest of a text that is one more item. */
  sameItem: 0x4a,
} as const;

export const digestBytes = 16;
/** Items from this size on are also remembered by themselves. */
export const keptFromBytes = 128;

/** The digest of a list without items. */
export const noItems = "\0".repeat(digestBytes);

/** The digest of a text: half of its SHA-256, a character (U+0000 to U+00FF) a byte. */
export const textDigest = (text: Uint8Array): string =>
  hash("sha256", text, "buffer").toString("latin1", 0, digestBytes);

const chain = Buffer.alloc(1 + 2 * digestBytes, "L");

/** The digest of a list with one item more. No JSON text begins as what is hashed here does. */
export function listDigest(list: string, item: string): string {
  chain.write(list, 1, "latin1");
  chain.write(item, 1 + digestBytes, "latin1");
  return textDigest(chain);
}
