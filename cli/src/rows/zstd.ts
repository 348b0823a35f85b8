import { pipeline, Readable } from "node:stream";
import type { Transform } from "node:stream";
import * as zlib from "node:zlib";
import { Decompress } from "fzstd";
import { UsageError } from "../usage-error.ts";

/** Functions of `node:zlib` that the oldest supported version of Node lacks. */
interface NodeZstd {
  readonly createZstdDecompress?: () => Transform;
  readonly createZstdCompress?: () => Transform;
}

/** Number of compressed bytes to decompress at once. A small number keeps the decompressed output small. */
const sliceBytes = 4_096;

/** Decompresses zstd with Node if it supports zstd, otherwise with the package fzstd. */
export function decompressZstd(chunks: AsyncIterable<Buffer>): AsyncIterable<Uint8Array> {
  const { createZstdDecompress } = zlib as NodeZstd;
  return createZstdDecompress === undefined
    ? decompressZstdWithPackage(chunks)
    : pipeline(
        Readable.from(chunks, { objectMode: false }),
        createZstdDecompress(),
        () => undefined,
      );
}

/**
 * Creates a stream that compresses as zstd.
 *
 * @throws {@link UsageError} if this version of Node does not support it.
 */
export function createZstdCompressor(): Transform {
  const { createZstdCompress } = zlib as NodeZstd;
  if (createZstdCompress === undefined) {
    throw new UsageError(
      `writing zstd needs Node 22.15 or newer, but this is ${process.version}; use --gzip instead`,
    );
  }
  return createZstdCompress();
}

/** Decompresses zstd with the package fzstd. */
export async function* decompressZstdWithPackage(
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<Uint8Array> {
  let outputChunks: Uint8Array[] = [];
  const decompressor = new Decompress((outputChunk) => void outputChunks.push(outputChunk));
  for await (const chunk of chunks) {
    for (let offset = 0; offset < chunk.length; offset += sliceBytes) {
      decompressor.push(chunk.subarray(offset, offset + sliceBytes));
      yield* outputChunks;
      outputChunks = [];
    }
  }
  decompressor.push(new Uint8Array(0), true);
  yield* outputChunks;
}
