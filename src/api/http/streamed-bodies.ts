import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { StreamedBody } from "../../transport/transport.ts";
import { ValidationError } from "../../model/errors.ts";

/** Bytes of a caller's: in memory, a file by its path, or whatever is read piece by piece. */
export type ByteSource =
  | string
  | URL
  | Uint8Array
  | ArrayBuffer
  | Blob
  | AsyncIterable<Uint8Array | string>;

/**
 * What a caller gave, ready to send. A file is read as it is sent.
 *
 * @throws {@link ValidationError} there is no such file, it can't be read, or `source` is none of these.
 */
export async function toBody(source: ByteSource, what: string): Promise<Uint8Array | StreamedBody> {
  if (typeof source === "string" || source instanceof URL) {
    return await fileBody(source, what);
  }
  if (source instanceof Uint8Array) {
    return source;
  }
  if (source instanceof ArrayBuffer) {
    return new Uint8Array(source);
  }
  if (source instanceof Blob) {
    return blobBody(source);
  }
  if (typeof source === "object" && source !== null && Symbol.asyncIterator in source) {
    return streamBody(source, what);
  }
  throw new ValidationError(`The ${what} must be a path, bytes, a Blob or a stream`);
}

async function fileBody(path: string | URL, what: string): Promise<StreamedBody> {
  const size = await sizeOfFile(path, what);
  return {
    sizeBytes: size,
    isSpent: false,
    async *open() {
      let read = 0;
      // Without its end a file that grows meanwhile would be more than was announced.
      const stream = size === 0 ? [] : createReadStream(path, { end: size - 1 });
      try {
        for await (const chunk of stream) {
          const bytes = chunk as Buffer;
          read += bytes.length;
          yield bytes;
        }
      } catch (cause) {
        throw unreadable(what, cause);
      }
      if (read < size) {
        throw new ValidationError(
          `The ${what} became shorter while it was read. Call again when nothing writes to it`,
        );
      }
    },
  };
}

async function sizeOfFile(path: string | URL, what: string): Promise<number> {
  try {
    const found = await stat(path);
    if (found.isFile()) {
      return found.size;
    }
  } catch (cause) {
    throw unreadable(what, cause);
  }
  throw new ValidationError(
    `The ${what} is not a file: ${String(path)}. Give the path of a file, bytes, a Blob or a stream`,
  );
}

export const blobBody = (blob: Blob): StreamedBody => ({
  sizeBytes: blob.size,
  isSpent: false,
  async *open() {
    try {
      yield* blob.stream() as unknown as AsyncIterable<Uint8Array>;
    } catch (cause) {
      throw unreadable("Blob", cause);
    }
  },
});

/** A stream can be read once: from then on the call is not tried again. */
function streamBody(stream: AsyncIterable<Uint8Array | string>, what: string): StreamedBody {
  let isSpent = false;
  return {
    get isSpent() {
      return isSpent;
    },
    async *open() {
      isSpent = true;
      try {
        for await (const chunk of stream) {
          yield toBytes(chunk);
        }
      } catch (cause) {
        throw unreadable(what, cause);
      }
    },
  };
}

function toBytes(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) {
    return chunk;
  }
  if (typeof chunk === "string") {
    return Buffer.from(chunk);
  }
  throw new TypeError(`it holds a value of type ${typeof chunk}`);
}

const unreadable = (what: string, cause: unknown): ValidationError =>
  new ValidationError(
    `The ${what} can't be read: ${cause instanceof Error ? cause.message : String(cause)}`,
    { cause },
  );
