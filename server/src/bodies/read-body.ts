import type { IncomingMessage } from "node:http";
import type { Readable, Transform } from "node:stream";
import * as zlib from "node:zlib";
import { messageOf, RequestError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";

// Node has zstd from 22.15 and 23.8 on; the types of the floor do not know it.
const zstdFactory = (zlib as { createZstdDecompress?: () => Transform }).createZstdDecompress;

/** Whether this Node can inflate zstd. */
export const hasZstd = zstdFactory !== undefined;

/** The whole body, inflated, in the pieces in which it came. @throws RequestError see {@link readChunks}. */
export async function readPieces(request: IncomingMessage): Promise<readonly Buffer[]> {
  const chunks: Buffer[] = [];
  await readChunks(request, (chunk) => chunks.push(chunk));
  return chunks;
}

/** Copies them only where there are several. */
export const joinPieces = (pieces: readonly Buffer[]): Buffer =>
  pieces.length === 1 ? (pieces[0] ?? Buffer.alloc(0)) : Buffer.concat(pieces);

/** How much of a body is taken, and for how long. */
export interface BodyBounds {
  /** As sent and as inflated. */
  readonly bytesMax: number;
  /** Milliseconds for all of it to arrive; then the connection ends. */
  readonly withinMs: number;
  /** Bytes that each byte sent may become, once so many have come of it that it matters. */
  readonly inflateRatioMax?: number;
}

const usualBounds: BodyBounds = {
  bytesMax: serverLimits.bodyBytesMax,
  withinMs: serverLimits.requestMs,
  inflateRatioMax: serverLimits.inflateRatio,
};

/**
 * Passes on the body in inflated pieces, and waits where the receiver returns a promise. Counts bytes before and after
 * inflating and stops at the limit, so a small body that inflates to a huge one is never held in memory.
 *
 * @throws RequestError it is too large, malformed in its encoding, of an unknown encoding, or too slow.
 */
export async function readChunks(
  request: IncomingMessage,
  onChunk: (chunk: Buffer) => unknown,
  { bytesMax, withinMs, inflateRatioMax = Number.POSITIVE_INFINITY }: BodyBounds = usualBounds,
): Promise<void> {
  const bounded = { onChunk, bytesMax, inflateRatioMax };
  let late: RequestError | undefined;
  const timer = setTimeout(() => {
    late = new RequestError(
      408,
      `the body took longer than ${withinMs} ms to arrive: send less in one request`,
    );
    request.destroy(late);
  }, withinMs);
  try {
    const inflate = chooseInflate(request.headers["content-encoding"]);
    if (Number(request.headers["content-length"] ?? 0) > bytesMax) {
      throw tooLarge("the body", bytesMax);
    }
    await (inflate === undefined
      ? pass(request, bounded)
      : passInflated(request, inflate(), bounded));
  } catch (cause) {
    if (late !== undefined || cause instanceof RequestError) {
      throw late ?? cause;
    }
    throw new RequestError(400, `the body broke off: ${messageOf(cause)}`);
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

interface Taker {
  readonly onChunk: (chunk: Buffer) => unknown;
  readonly bytesMax: number;
  readonly inflateRatioMax: number;
}

async function pass(source: Readable, { onChunk, bytesMax }: Taker): Promise<void> {
  let size = 0;
  for await (const chunk of source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > bytesMax) {
      throw tooLarge("the body", bytesMax);
    }
    await waitFor(onChunk(chunk));
  }
}

/** Most takers are done at once: then nothing is waited for. */
const waitFor = (taken: unknown): unknown => (taken instanceof Promise ? taken : undefined);

async function passInflated(
  source: Readable,
  inflate: Transform,
  { onChunk, bytesMax, inflateRatioMax }: Taker,
): Promise<void> {
  let sentBytes = 0;
  source.on("data", (chunk: Buffer) => {
    sentBytes += chunk.length;
  });
  source.on("error", (cause) => inflate.destroy(cause));
  source.on("aborted", () => inflate.destroy(new Error("aborted")));
  source.pipe(inflate);
  let size = 0;
  try {
    for await (const chunk of inflate as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > bytesMax) {
        throw tooLarge("the inflated body", bytesMax);
      }
      if (size > serverLimits.inflateFreeBytes && size > sentBytes * inflateRatioMax) {
        throw new RequestError(
          413,
          `the body inflates to more than ${inflateRatioMax} times what was sent; send it without an encoding`,
        );
      }
      await waitFor(onChunk(chunk));
    }
  } catch (cause) {
    throw cause instanceof RequestError
      ? cause
      : new RequestError(422, `the body does not inflate: ${messageOf(cause)}`);
  } finally {
    source.unpipe(inflate);
    inflate.destroy();
  }
}

const tooLarge = (what: string, bytesMax: number): RequestError =>
  new RequestError(413, `${what} is larger than ${bytesMax} bytes; send less in one request`);

/** A body that is read on a thread of its own: what it holds may take long, whatever it is. */
export const isLarge = (pieces: readonly Buffer[], fromBytes: number): boolean =>
  pieces.reduce((sum, { length }) => sum + length, 0) > fromBytes;
