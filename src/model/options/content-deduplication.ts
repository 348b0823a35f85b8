/**
 * Byte format of a payload field that is sent as chunks in one part of a multipart request: content
 * that the server already has from the same trace is replaced by its digest. Written by
 * `workers/json/chunk-writer.ts` and read by the local server; both use the constants of this file.
 *
 * The body of such a part is a sequence of chunks. A chunk is a byte of {@link chunkCode}, followed
 * either by a u32 length (little-endian) and as many bytes of JSON text, or by a digest of {@link
 * digestBytes} bytes. The concatenated texts of all chunks are the field's JSON, byte for byte.
 */
import { hash } from "node:crypto";

/** How content that a trace contains several times is sent: each time (`inline`), or only once (`once`). */
export const contentDeduplications = ["inline", "once"] as const;

/** One of {@link contentDeduplications}. */
export type ContentDeduplicationMode = (typeof contentDeduplications)[number];

/** Content type of a payload field that consists of chunks. All other payload fields are plain JSON. */
export const chunksType = "application/vnd.millrace.pieces";

/** The first byte of a chunk. */
export const chunkCode = {
  /** Text that the server does not remember. */
  text: 0x54,
  /** Text that the server remembers by its digest. */
  remembered: 0x4b,
  /** A reference to a remembered text or item: only its digest. */
  reference: 0x53,
  /**
   * A reference to a remembered list: only its digest, or {@link emptyListDigest} for a list without items. The chunk
   * stands for the text `[` and the items of that list, joined by commas. Chunks `item` and `itemReference` that
   * directly follow append items to the list. After each of these chunks, the server remembers the longer list.
   */
  list: 0x4c,
  /** The text of another item of the list. A comma precedes it unless it is the list's first item. */
  item: 0x49,
  /** Another item of the list, as a reference: only its digest. */
  itemReference: 0x4a,
} as const;

/** Length of a digest in bytes. */
export const digestBytes = 16;
/** Items of at least this many bytes are remembered individually, in addition to their list. */
export const minRememberedBytes = 128;

/** The digest of a list without items. */
export const emptyListDigest = "\0".repeat(digestBytes);

/**
 * Computes the digest of a text: the first half of its SHA-256, as a string with one character
 * (U+0000 to U+00FF) per byte.
 */
export const textDigest = (text: Uint8Array): string =>
  hash("sha256", text, "buffer").toString("latin1", 0, digestBytes);

const listDigestInput = Buffer.alloc(1 + 2 * digestBytes, "L");

/**
 * Computes the digest of a list after another item was added. The hashed bytes begin with the letter `L`, so they can't
 * be mistaken for JSON text.
 */
export function listDigest(previousListDigest: string, itemDigest: string): string {
  listDigestInput.write(previousListDigest, 1, "latin1");
  listDigestInput.write(itemDigest, 1 + digestBytes, "latin1");
  return textDigest(listDigestInput);
}
