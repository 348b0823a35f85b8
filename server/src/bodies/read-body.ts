import type { IncomingMessage } from "node:http";
import type { Readable, Transform } from "node:stream";
import * as zlib from "node:zlib";
import { messageOf, RequestError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";

// Node has zstd since 22.15 and 23.8. The type definitions of the oldest supported version do not contain it.
const zstdFactory = (zlib as { createZstdDecompress?: () => Transform }).createZstdDecompress;

/** Whether this version of Node can decompress zstd. */
export const hasZstd = zstdFactory !== undefined;

/**
 * Reads a whole body and decompresses it. Returns it in chunks.
 *
 * @throws RequestError see {@link readChunks}.
 */
export async function readBodyChunks(request: IncomingMessage): Promise<readonly Buffer[]> {
  const chunks: Buffer[] = [];
  await readChunks(request, (chunk) => chunks.push(chunk));
  return chunks;
}

/** Joins chunks into one buffer. Copies only if there are several chunks. */
export const joinChunks = (chunks: readonly Buffer[]): Buffer =>
  chunks.length === 1 ? (chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(chunks);

export interface BodyBounds {
  /** Maximum number of bytes, both of the body as it was sent and of the decompressed body. */
  readonly bytesMax: number;
  /** Milliseconds within which the whole body must arrive. After that, the connection is closed. */
  readonly withinMs: number;
  /**
   * Maximum ratio of decompressed to sent bytes. It is checked only once the decompressed body has more than
   * `serverLimits.inflateFreeBytes` bytes.
   */
  readonly inflateRatioMax?: number;
}

const defaultBounds: BodyBounds = {
  bytesMax: serverLimits.bodyBytesMax,
  withinMs: serverLimits.requestMs,
  inflateRatioMax: serverLimits.inflateRatio,
};

/**
 * Calls `onChunk` with each chunk of the decompressed body, and waits if it returns a promise. Counts bytes before
 * and after decompression and stops at the limit, so that a small body that decompresses to a huge one does not fill
 * the memory.
 *
 * @throws RequestError if the body is too large, arrives too slowly, can't be decompressed or has an unknown encoding.
 */
export async function readChunks(
  request: IncomingMessage,
  onChunk: (chunk: Buffer) => unknown,
  { bytesMax, withinMs, inflateRatioMax = Number.POSITIVE_INFINITY }: BodyBounds = defaultBounds,
): Promise<void> {
  const receiver = { onChunk, bytesMax, inflateRatioMax };
  let timeoutError: RequestError | undefined;
  const timer = setTimeout(() => {
    timeoutError = new RequestError(
      408,
      `the body took longer than ${withinMs} ms to arrive: send less in one request`,
    );
    request.destroy(timeoutError);
  }, withinMs);
  try {
    const createInflater = chooseInflate(request.headers["content-encoding"]);
    if (Number(request.headers["content-length"] ?? 0) > bytesMax) {
      throw createTooLargeError("the body", bytesMax);
    }
    await (createInflater === undefined
      ? readPlain(request, receiver)
      : readInflated(request, createInflater(), receiver));
  } catch (cause) {
    if (timeoutError !== undefined || cause instanceof RequestError) {
      throw timeoutError ?? cause;
    }
    throw new RequestError(400, `the body ended early: ${messageOf(cause)}`);
  } finally {
    clearTimeout(timer);
  }
}

function chooseInflate(encoding: string | undefined): (() => Transform) | undefined {
  switch (encoding?.trim().toLowerCase()) {
    case undefined:
    case "":
    case "identity":
      return undefined;
    case "gzip":
    case "x-gzip":
      return () => zlib.createGunzip({ chunkSize: inflatedChunkBytes });
    case "zstd":
      if (zstdFactory === undefined) {
        throw new RequestError(
          415,
          `zstd needs Node 22.15 or newer, this server runs on ${process.version}; send gzip or no encoding`,
        );
      }
      return zstdFactory;
    default:
      throw new RequestError(
        415,
        `unknown content encoding ${JSON.stringify(encoding)}; known are gzip, zstd and identity`,
      );
  }
}

const inflatedChunkBytes = 65_536;

interface ChunkReceiver {
  readonly onChunk: (chunk: Buffer) => unknown;
  readonly bytesMax: number;
  readonly inflateRatioMax: number;
}

async function readPlain(source: Readable, { onChunk, bytesMax }: ChunkReceiver): Promise<void> {
  let size = 0;
  for await (const chunk of source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > bytesMax) {
      throw createTooLargeError("the body", bytesMax);
    }
    await toPromiseOrUndefined(onChunk(chunk));
  }
}

/**
 * Returns a promise as it is, and `undefined` for any other result. Awaiting `undefined` takes only a microtask, not a
 * turn of the event loop.
 */
const toPromiseOrUndefined = (result: unknown): unknown =>
  result instanceof Promise ? result : undefined;

async function readInflated(
  source: Readable,
  inflater: Transform,
  { onChunk, bytesMax, inflateRatioMax }: ChunkReceiver,
): Promise<void> {
  let sentBytes = 0;
  source.on("data", (chunk: Buffer) => {
    sentBytes += chunk.length;
  });
  source.on("error", (cause) => inflater.destroy(cause));
  source.on("aborted", () => inflater.destroy(new Error("aborted")));
  source.pipe(inflater);
  let size = 0;
  try {
    for await (const chunk of inflater as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > bytesMax) {
        throw createTooLargeError("the decompressed body", bytesMax);
      }
      if (size > serverLimits.inflateFreeBytes && size > sentBytes * inflateRatioMax) {
        throw new RequestError(
          413,
          `the body decompresses to more than ${inflateRatioMax} times what was sent; send it uncompressed`,
        );
      }
      await toPromiseOrUndefined(onChunk(chunk));
    }
  } catch (cause) {
    throw cause instanceof RequestError
      ? cause
      : new RequestError(422, `the body can't be decompressed: ${messageOf(cause)}`);
  } finally {
    source.unpipe(inflater);
    inflater.destroy();
  }
}

const createTooLargeError = (subject: string, bytesMax: number): RequestError =>
  new RequestError(413, `${subject} is larger than ${bytesMax} bytes; send less in one request`);

/**
 * Whether a body is so large that a worker thread must parse it, because parsing could block this thread for too
 * long.
 */
export const isLarge = (chunks: readonly Buffer[], thresholdBytes: number): boolean =>
  chunks.reduce((sum, { length }) => sum + length, 0) > thresholdBytes;
