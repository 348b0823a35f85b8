import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { pipeline, Readable } from "node:stream";
import * as zlib from "node:zlib";
import { SourceError } from "./source-row.ts";
import { unzstd } from "./zstd.ts";

/** Bytes that are read as they are wanted. */
export interface ByteSource {
  /** Of the content: unpacked, where the source is packed. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** How much of the source has been read, from 0 to 1; `undefined` where its size is not known. */
  readonly fraction: () => number | undefined;
}

export type Packing = "gzip" | "zstd" | "none";

/** The name that stands for standard input. */
export const standardInput = "-";

/** Opens a file, or standard input; how it is packed shows in its first bytes. */
export async function openBytes(path: string): Promise<ByteSource> {
  const isFile = path !== standardInput;
  const size = isFile ? (await stat(path)).size : undefined;
  const input: Readable = isFile
    ? createReadStream(path, { highWaterMark: 262_144 })
    : process.stdin;
  let read = 0;
  const counted = async function* counted(): AsyncGenerator<Buffer> {
    for await (const chunk of input as AsyncIterable<Buffer>) {
      read += chunk.length;
      yield chunk;
    }
  };
  return {
    bytes: unpacked(counted(), isFile ? path : "standard input"),
    fraction: () => (size === undefined || size === 0 ? undefined : Math.min(1, read / size)),
  };
}

/** How a file is packed. */
export async function packingOf(path: string): Promise<Packing> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0);
    return packingIn(buffer.subarray(0, bytesRead));
  } finally {
    await file.close();
  }
}

function packingIn(head: Uint8Array): Packing {
  const [a, b, c, d] = head;
  if (a === 0x1f && b === 0x8b) {
    return "gzip";
  }
  return a === 0x28 && b === 0xb5 && c === 0x2f && d === 0xfd ? "zstd" : "none";
}

async function* unpacked(chunks: AsyncGenerator<Buffer>, name: string): AsyncGenerator<Uint8Array> {
  let head = Buffer.alloc(0);
  let isEnd = false;
  while (head.length < 4 && !isEnd) {
    const step = await chunks.next();
    isEnd = step.done === true;
    head = step.done === true ? head : Buffer.concat([head, step.value]);
  }
  const whole = async function* whole(): AsyncGenerator<Buffer> {
    yield head;
    yield* chunks;
  };
  const packing = packingIn(head);
  if (packing === "none") {
    yield* whole();
    return;
  }
  try {
    yield* packing === "gzip" ? gunzipped(whole()) : unzstd(whole());
  } catch (cause) {
    throw new SourceError(`${name} is no whole ${packing} file: ${messageOf(cause)}`, { cause });
  }
}

const gunzipped = (chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer> =>
  // What fails at either end ends the other, and comes out where it is read.
  pipeline(Readable.from(chunks, { objectMode: false }), zlib.createGunzip(), () => undefined);

export const messageOf = (cause: unknown): string =>
  cause instanceof Error ? cause.message : String(cause);
