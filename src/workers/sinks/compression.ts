import * as zlib from "node:zlib";
import type { ContentEncoding } from "../wire.ts";

/** Smaller bodies are not compressed, because it would save too little. */
export const compressFromBytes = 1_024;

/** A function that compresses bytes synchronously. */
type Compress = (bytes: Uint8Array) => Uint8Array;

/** Node's function for zstd; `undefined` in a Node version before 22.15. */
export const zstdCompressSync: Compress | undefined =
  "zstdCompressSync" in zlib && typeof zlib.zstdCompressSync === "function"
    ? (zlib.zstdCompressSync as Compress)
    : undefined;

/**
 * Compresses synchronously on this worker thread: the asynchronous functions would occupy the
 * thread pool that the program's own file access and DNS lookups use. Uses level 1: a higher level
 * costs more than it saves on the network.
 */
export function compress(bytes: Uint8Array, encoding: ContentEncoding): Uint8Array {
  return encoding === "zstd" && zstdCompressSync !== undefined
    ? zstdCompressSync(bytes)
    : zlib.gzipSync(bytes, { level: 1 });
}
