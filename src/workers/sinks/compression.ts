import * as zlib from "node:zlib";
import type { ContentEncoding } from "../wire.ts";

type Compress = (bytes: Uint8Array) => Uint8Array;

/** Present from Node 22.15 on. */
export const zstdCompressSync: Compress | undefined =
  "zstdCompressSync" in zlib && typeof zlib.zstdCompressSync === "function"
    ? (zlib.zstdCompressSync as Compress)
    : undefined;

/**
 * Compresses on this thread, a worker's: the asynchronous calls would take the thread pool that the
 * program's own file and name look-ups wait for. Level 1: more costs more than the wire saves.
 */
export function compress(bytes: Uint8Array, encoding: ContentEncoding): Uint8Array {
  return encoding === "zstd" && zstdCompressSync !== undefined
    ? zstdCompressSync(bytes)
    : zlib.gzipSync(bytes, { level: 1 });
}
