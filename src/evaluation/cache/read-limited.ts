/** Maximum size of a body that is cached, in bytes. */
export const maxBodyBytes = 67_108_864;

/** A body that was read. If it is larger than the limit, `chunks` is empty and `wholeBody` is a stream of all of it. */
export interface LimitedBody {
  readonly chunks: readonly Uint8Array[];
  readonly wholeBody?: ReadableStream<Uint8Array>;
}

/** Reads a body up to the limit. */
export async function readLimited(
  body: ReadableStream<Uint8Array> | null,
  maxBytes = maxBodyBytes,
): Promise<LimitedBody> {
  const chunks: Uint8Array[] = [];
  if (body === null) {
    return { chunks };
  }
  const reader = body.getReader();
  for (let receivedBytes = 0; ;) {
    const { done, value } = await reader.read();
    if (done) {
      return { chunks };
    }
    chunks.push(value);
    receivedBytes += value.length;
    if (receivedBytes > maxBytes) {
      return { chunks: [], wholeBody: joinStream(chunks, reader) };
    }
  }
}

function joinStream(
  chunks: readonly Uint8Array[],
  reader: ReadableStreamDefaultReader<Uint8Array>,
): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      chunks.forEach((chunk) => controller.enqueue(chunk));
    },
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) {
        controller.close();
      } else {
        controller.enqueue(value);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
