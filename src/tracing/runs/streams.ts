import type { CallRecording } from "./call-recording.ts";
import { withRun } from "./context.ts";
import { isObject } from "../tape/override-methods.ts";

/**
 * Observes a web stream. Returns a stream of the same kind that reads the source only when it is read itself, and
 * passes on chunks, cancellation and errors unchanged.
 */
export function watchReadable(
  source: ReadableStream<unknown>,
  recording: CallRecording,
): ReadableStream<unknown> {
  const watched = isByteStream(source)
    ? watchBytes(source, recording)
    : watchValues(source, recording);
  // If the source belongs to a subclass of ReadableStream, the returned stream gets the methods of that subclass, but
  // not the state that the subclass's constructor created.
  const prototype: unknown = Object.getPrototypeOf(source);
  if (prototype !== ReadableStream.prototype && isObject(prototype)) {
    Object.setPrototypeOf(watched, prototype);
  }
  return watched;
}

function watchValues(
  source: ReadableStream<unknown>,
  recording: CallRecording,
): ReadableStream<unknown> {
  const reader = source.getReader();
  return new ReadableStream<unknown>(
    {
      pull: async (controller) => {
        const { done, value } = await readAndRecord(reader, recording);
        if (done) {
          controller.close();
        } else {
          recording.recordChunk(value);
          controller.enqueue(value);
        }
      },
      cancel: createCancel(reader, recording),
    },
    // Do not read ahead: the traced function's stream must see the same demand as without tracing.
    { highWaterMark: 0 },
  );
}

function watchBytes(
  source: ReadableStream<unknown>,
  recording: CallRecording,
): ReadableStream<unknown> {
  const reader = source.getReader();
  return new ReadableStream({
    type: "bytes",
    pull: async (controller) => {
      const { done, value } = await readAndRecord(reader, recording);
      if (done) {
        controller.close();
        respondToPendingRequest(controller.byobRequest);
      } else if (value instanceof Uint8Array) {
        // Copy the chunk before `enqueue`, which transfers its buffer to the reader and detaches it.
        recording.recordChunk(value.slice());
        controller.enqueue(value);
      }
    },
    cancel: createCancel(reader, recording),
  });
}

async function readAndRecord(
  reader: ReadableStreamDefaultReader<unknown>,
  recording: CallRecording,
): ReturnType<typeof reader.read> {
  try {
    const result = await withRun(recording.run, () => reader.read());
    if (result.done) {
      recording.recordStreamEnd();
    }
    return result;
  } catch (error) {
    recording.recordFailure(error);
    throw error;
  }
}

const createCancel =
  (reader: ReadableStreamDefaultReader<unknown>, recording: CallRecording) =>
  async (reason: unknown): Promise<void> => {
    recording.recordCancellation();
    await withRun(recording.run, () => reader.cancel(reason));
  };

/**
 * Ends a pending read into a buffer of the reader (BYOB). After the stream was closed, such a read resolves only when
 * it gets a response of zero bytes.
 */
function respondToPendingRequest(request: unknown): void {
  if (isObject(request) && typeof request["respond"] === "function") {
    Reflect.apply(request["respond"], request, [0]);
  }
}

function isByteStream(source: ReadableStream<unknown>): boolean {
  try {
    source.getReader({ mode: "byob" }).releaseLock();
    return true;
  } catch {
    // `getReader({ mode: "byob" })` throws for a stream that is not a byte stream.
    return false;
  }
}
