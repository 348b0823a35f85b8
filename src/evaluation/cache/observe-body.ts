import { maxBodyBytes } from "./read-limited.ts";

/** The result of observing a body: all of its bytes, or the reason why they are not complete. */
export type ObservedBody =
  | { readonly kind: "complete"; readonly chunks: readonly Uint8Array[] }
  | { readonly kind: "incomplete"; readonly reason: string };

/**
 * Returns a stream with the chunks of a body, and a promise of these chunks that resolves when the body has ended. The
 * body is read ahead of the program, so that it is observed completely even if the program does not read the stream. If
 * the program cancels the stream, the observation is incomplete.
 */
export function observeBody(
  body: ReadableStream<Uint8Array>,
  maxBytes = maxBodyBytes,
): {
  readonly stream: ReadableStream<Uint8Array>;
  readonly observed: Promise<ObservedBody>;
  /** Cancels the body. Called when the evaluation has ended. */
  readonly stop: () => void;
} {
  const reader = body.getReader();
  let chunks: Uint8Array[] = [];
  let receivedBytes = 0;
  let cancelReason: string | undefined;
  let onDemand: (() => void) | undefined;
  let controller: ReadableByteStreamController | undefined;
  const stream = new ReadableStream({
    type: "bytes",
    start(streamController) {
      controller = streamController;
    },
    pull() {
      onDemand?.();
    },
    async cancel(reason) {
      cancelReason = "the program stopped reading it";
      onDemand?.();
      await reader.cancel(reason);
    },
  });
  const readAll = async (): Promise<ObservedBody> => {
    try {
      while (true) {
        if (receivedBytes > maxBytes && (controller?.desiredSize ?? 0) <= 0) {
          // A body that is too large to be cached is read only as fast as the program reads the stream.
          await new Promise<void>((resolve) => {
            onDemand = resolve;
          });
        }
        const { done, value } = await reader.read();
        if (cancelReason !== undefined) {
          throw new DOMException(`The response was ended: ${cancelReason}`, "AbortError");
        }
        if (done) {
          closeStream(controller);
          return receivedBytes > maxBytes
            ? { kind: "incomplete", reason: `it is larger than ${maxBytes} bytes` }
            : { kind: "complete", chunks };
        }
        receivedBytes += value.length;
        if (receivedBytes > maxBytes) {
          chunks = [];
        } else {
          // Keep a copy, because the stream transfers the memory of the chunk to its reader.
          chunks.push(Uint8Array.from(value));
        }
        if (value.length > 0) {
          controller?.enqueue(value);
        }
      }
    } catch (error) {
      try {
        controller?.error(error);
      } catch {
        // The program has cancelled the stream, and can't receive the error any more.
      }
      return { kind: "incomplete", reason: cancelReason ?? "it ended with an error" };
    }
  };
  const stop = (): void => {
    cancelReason ??= "it had not ended when the evaluation did";
    onDemand?.();
    // The body may have failed already.
    reader.cancel().catch(() => {});
  };
  return { stream, observed: readAll(), stop };
}

/** Creates a stream that delivers chunks one by one, each in its own turn of the event loop, as a network would. */
export function replayChunks(
  storedChunks: readonly Uint8Array[],
  signal: AbortSignal,
): ReadableStream<Uint8Array> {
  // A stream of bytes can't deliver an empty chunk.
  const chunks = storedChunks.filter(({ length }) => length > 0);
  let index = 0;
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      if (signal.aborted) {
        controller.error(signal.reason);
        return;
      }
      const chunk = chunks[index];
      index += 1;
      if (chunk === undefined) {
        closeStream(controller);
      } else {
        controller.enqueue(Uint8Array.from(chunk));
      }
    },
  });
}

/** The members of a controller that end a stream. Node's types lack `byobRequest`. */
interface EndingController {
  readonly close: () => void;
  readonly byobRequest?: { readonly respond: (bytes: number) => void } | null | undefined;
}

function closeStream(controller: EndingController | undefined): void {
  controller?.close();
  // Without this call, a pending read into a buffer that the reader provided would never resolve.
  controller?.byobRequest?.respond(0);
}
