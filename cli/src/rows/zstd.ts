import { pipeline, Readable } from "node:stream";
import type { Transform } from "node:stream";
import * as zlib from "node:zlib";
import { Decompress } from "fzstd";
import { UsageError } from "../usage-error.ts";

/** What newer versions of Node have beside what the oldest that is served has. */
interface ZstdOfNode {
  readonly createZstdDecompress?: () => Transform;
  readonly createZstdCompress?: () => Transform;
}

/** So little at once that what it unpacks to stays small. */
const sliceBytes = 4_096;

/** Unpacks zstd: by Node where it can, else by a package. */
export function unzstd(chunks: AsyncIterable<Buffer>): AsyncIterable<Uint8Array> {
  const { createZstdDecompress } = zlib as ZstdOfNode;
  return createZstdDecompress === undefined
    ? unzstdHere(chunks)
    : pipeline(
        Readable.from(chunks, { objectMode: false }),
        createZstdDecompress(),
        () => undefined,
      );
}

/** Packs as zstd. @throws {@link UsageError} this version of Node can't. */
export function createZstd(): Transform {
  const { createZstdCompress } = zlib as ZstdOfNode;
  if (createZstdCompress === undefined) {
    throw new UsageError(
      `writing zstd needs Node 22.15 or newer, and this is ${process.version}; --gzip works here`,
    );
  }
  return createZstdCompress();
}

/** Unpacks zstd without Node's help. */
export async function* unzstdHere(chunks: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array> {
  let ready: Uint8Array[] = [];
  const unpacker = new Decompress((part) => void ready.push(part));
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += sliceBytes) {
      unpacker.push(chunk.subarray(at, at + sliceBytes));
      yield* ready;
      ready = [];
    }
  }
  unpacker.push(new Uint8Array(0), true);
  yield* ready;
}
