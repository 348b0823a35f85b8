import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { pipeline, Readable } from "node:stream";
import * as zlib from "node:zlib";
import { SourceError } from "./source-row.ts";
import { decompressZstd } from "./zstd.ts";

/** A source of bytes that is read on demand. */
export interface ByteSource {
  /** The content, decompressed if the source is compressed. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Returns the fraction of the source that has been read, from 0 to 1; `undefined` if its size is unknown. */
  readonly getFractionRead: () => number | undefined;
}

/** How a file is compressed. */
export type Compression = "gzip" | "zstd" | "none";

/** The file argument that stands for standard input. */
export const standardInput = "-";

/** Opens a file or standard input. The compression is detected from the first bytes. */
export async function openBytes(path: string): Promise<ByteSource> {
  const isFile = path !== standardInput;
  const size = isFile ? (await stat(path)).size : undefined;
  const input: Readable = isFile
    ? createReadStream(path, { highWaterMark: 262_144 })
    : process.stdin;
  let bytesRead = 0;
  const countBytes = async function* countBytes(): AsyncGenerator<Buffer> {
    for await (const chunk of input as AsyncIterable<Buffer>) {
      bytesRead += chunk.length;
      yield chunk;
    }
  };
  return {
    bytes: decompress(countBytes(), isFile ? path : "standard input"),
    getFractionRead: () =>
      size === undefined || size === 0 ? undefined : Math.min(1, bytesRead / size),
  };
}

/** Detects the compression of a file. */
export async function readCompression(path: string): Promise<Compression> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0);
    return detectCompression(buffer.subarray(0, bytesRead));
  } finally {
    await file.close();
  }
}

function detectCompression(firstBytes: Uint8Array): Compression {
  const [a, b, c, d] = firstBytes;
  if (a === 0x1f && b === 0x8b) {
    return "gzip";
  }
  return a === 0x28 && b === 0xb5 && c === 0x2f && d === 0xfd ? "zstd" : "none";
}

async function* decompress(
  chunks: AsyncGenerator<Buffer>,
  name: string,
): AsyncGenerator<Uint8Array> {
  let firstBytes = Buffer.alloc(0);
  let hasEnded = false;
  while (firstBytes.length < 4 && !hasEnded) {
    const next = await chunks.next();
    hasEnded = next.done === true;
    firstBytes = next.done === true ? firstBytes : Buffer.concat([firstBytes, next.value]);
  }
  const readAllChunks = async function* readAllChunks(): AsyncGenerator<Buffer> {
    yield firstBytes;
    yield* chunks;
  };
  const compression = detectCompression(firstBytes);
  if (compression === "none") {
    yield* readAllChunks();
    return;
  }
  try {
    yield* compression === "gzip"
      ? decompressGzip(readAllChunks())
      : decompressZstd(readAllChunks());
  } catch (cause) {
    throw new SourceError(
      `${name} is not a complete ${compression} file: ${readErrorMessage(cause)}`,
      {
        cause,
      },
    );
  }
}

const decompressGzip = (chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer> =>
  // An error of either stream ends the other, and is thrown to the code that reads the result.
  pipeline(Readable.from(chunks, { objectMode: false }), zlib.createGunzip(), () => undefined);

/** Returns the message of a thrown value, which is not necessarily an error. */
export const readErrorMessage = (cause: unknown): string =>
  cause instanceof Error ? cause.message : String(cause);
