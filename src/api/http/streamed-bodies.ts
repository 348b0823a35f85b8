import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { StreamedBody } from "../../transport/transport.ts";
import { ValidationError } from "../../model/errors.ts";

/** Bytes to upload: a path or file URL, bytes in memory, or a stream. */
export type ByteSource =
  | string
  | URL
  | Uint8Array
  | ArrayBuffer
  | Blob
  | AsyncIterable<Uint8Array | string>;

/**
 * Prepares a caller's bytes for sending. A file is read while it is sent.
 *
 * @param label - names the source in error messages.
 * @throws {@link ValidationError} if the file does not exist or can't be read, or `source` is not a {@link ByteSource}.
 */
export async function toBody(
  source: ByteSource,
  label: string,
): Promise<Uint8Array | StreamedBody> {
  if (typeof source === "string" || source instanceof URL) {
    return await createFileBody(source, label);
  }
  if (source instanceof Uint8Array) {
    return source;
  }
  if (source instanceof ArrayBuffer) {
    return new Uint8Array(source);
  }
  if (source instanceof Blob) {
    return createBlobBody(source);
  }
  if (typeof source === "object" && source !== null && Symbol.asyncIterator in source) {
    return createStreamBody(source, label);
  }
  throw new ValidationError(`The ${label} must be a path, bytes, a Blob or a stream`);
}

async function createFileBody(path: string | URL, label: string): Promise<StreamedBody> {
  const size = await readFileSize(path, label);
  return {
    sizeBytes: size,
    isConsumed: false,
    async *open() {
      let readBytes = 0;
      // Stop at the announced size, even if the file has grown since.
      const stream = size === 0 ? [] : createReadStream(path, { end: size - 1 });
      try {
        for await (const chunk of stream) {
          const bytes = chunk as Buffer;
          readBytes += bytes.length;
          yield bytes;
        }
      } catch (cause) {
        throw createReadError(label, cause);
      }
      if (readBytes < size) {
        throw new ValidationError(
          `The ${label} became shorter while it was being read. Call again when no other process writes to it`,
        );
      }
    },
  };
}

async function readFileSize(path: string | URL, label: string): Promise<number> {
  try {
    const stats = await stat(path);
    if (stats.isFile()) {
      return stats.size;
    }
  } catch (cause) {
    throw createReadError(label, cause);
  }
  throw new ValidationError(
    `The ${label} is not a file: ${String(path)}. Pass the path of a file, bytes, a Blob or a stream`,
  );
}

/** Creates a request body that is read from a blob. */
export const createBlobBody = (blob: Blob): StreamedBody => ({
  sizeBytes: blob.size,
  isConsumed: false,
  async *open() {
    try {
      yield* blob.stream() as unknown as AsyncIterable<Uint8Array>;
    } catch (cause) {
      throw createReadError("Blob", cause);
    }
  },
});

/** Creates a body from a stream. A stream can be read only once, so the request can't be retried after `open`. */
function createStreamBody(stream: AsyncIterable<Uint8Array | string>, label: string): StreamedBody {
  let isConsumed = false;
  return {
    get isConsumed() {
      return isConsumed;
    },
    async *open() {
      isConsumed = true;
      try {
        for await (const chunk of stream) {
          yield toBytes(chunk);
        }
      } catch (cause) {
        throw createReadError(label, cause);
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
  throw new TypeError(`it contains a value of type ${typeof chunk}`);
}

const createReadError = (label: string, cause: unknown): ValidationError =>
  new ValidationError(
    `The ${label} can't be read: ${cause instanceof Error ? cause.message : String(cause)}`,
    { cause },
  );
