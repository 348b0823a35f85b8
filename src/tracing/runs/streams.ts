import type { CallRecording } from "./call-recording.ts";
import { withRun } from "./context.ts";
import { isObject } from "../tape/placeholder.ts";

/**
 * Watches a web stream: a stream of the same kind that reads on only when it is read, and hands
 * on chunks, cancellation and failure as they are.
 */
export function watchReadable(
  source: ReadableStream<unknown>,
  recording: CallRecording,
): ReadableStream<unknown> {
  const watched = isByteStream(source)
    ? watchBytes(source, recording)
    : watchValues(source, recording);
  // A subclass keeps its methods, though not what its constructor set up.
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
        const { done, value } = await read(reader, recording);
        if (done) {
          controller.close();
        } else {
          recording.chunk(value);
          controller.enqueue(value);
        }
      },
      cancel: cancel(reader, recording),
    },
    // Nothing is read ahead: the traced function sees the same demand as without us.
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
      const { done, value } = await read(reader, recording);
      if (done) {
        controller.close();
        answerPending(controller.byobRequest);
      } else if (value instanceof Uint8Array) {
        // Copied, because the reader takes the chunk's memory away with it.
        recording.chunk(value.slice());
        controller.enqueue(value);
      }
    },
    cancel: cancel(reader, recording),
  });
}

async function read(
  reader: ReadableStreamDefaultReader<unknown>,
  recording: CallRecording,
): ReturnType<typeof reader.read> {
  try {
    const result = await withRun(recording.run, () => reader.read());
    if (result.done) {
      recording.finished();
    }
    return result;
  } catch (error) {
    recording.failed(error);
    throw error;
  }
}

const cancel =
  (reader: ReadableStreamDefaultReader<unknown>, recording: CallRecording) =>
  async (reason: unknown): Promise<void> => {
    recording.cancelled();
    await withRun(recording.run, () => reader.cancel(reason));
  };

/** A reader that waits with its own buffer learns of the end only by an answer of no bytes. */
function answerPending(request: unknown): void {
  if (isObject(request) && typeof request["respond"] === "function") {
    Reflect.apply(request["respond"], request, [0]);
  }
}

function isByteStream(source: ReadableStream<unknown>): boolean {
  try {
    source.getReader({ mode: "byob" }).releaseLock();
    return true;
  } catch {
    // That is how a stream of values answers.
    return false;
  }
}
