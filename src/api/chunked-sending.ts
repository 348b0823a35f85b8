import { AbortError, IncompleteError, SdkError } from "../model/errors.ts";
import type { ExampleDraft } from "./datasets/example-wire.ts";

/** Maximum number of concurrent requests of one call. */
const maxChunksInFlight = 4;

/** Limits of one chunk, which is sent with one request. */
export interface ChunkLimits {
  /** Maximum number of examples in one request. */
  readonly count: number;
  /** Maximum size of one request in bytes. An example that is larger is sent in a request of its own. */
  readonly bytes: number;
}

/**
 * Serializes examples and groups them, in order, into chunks; each chunk is sent with one request. Reads further items
 * only when the consumer needs the next chunk.
 */
export async function* groupIntoChunks<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  toDraft: (item: Item) => ExampleDraft,
  limits: ChunkLimits,
): AsyncGenerator<readonly ExampleDraft[], void> {
  let chunk: ExampleDraft[] = [];
  let bytes = 0;
  for await (const item of items) {
    const draft = toDraft(item);
    const isFull = chunk.length >= limits.count || bytes + draft.sizeBytes > limits.bytes;
    if (isFull && chunk.length > 0) {
      yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(draft);
    bytes += draft.sizeBytes;
  }
  if (chunk.length > 0) {
    yield chunk;
  }
}

/**
 * How chunks are sent: the name of the action in error messages, such as `create examples`, and the function that sends
 * one chunk.
 */
export interface ChunkedSending {
  readonly action: string;
  readonly send: (drafts: readonly ExampleDraft[]) => Promise<void>;
  readonly signal?: AbortSignal | undefined;
}

/** The ids of the examples in a chunk that was sent, and whether its request succeeded. */
interface SentChunk {
  readonly ids: readonly string[];
  isConfirmed: boolean;
}

/**
 * Sends the chunks, several requests at a time. After a failure no further request starts; the call waits for
 * the requests in flight and then throws.
 *
 * @returns the ids of all examples, in the order of the chunks.
 * @throws {@link IncompleteError} if at least one chunk succeeded. The error's `cause` is the failure.
 * @throws the failure itself, if no chunk succeeded.
 */
export async function sendInChunks(
  chunks: AsyncGenerator<readonly ExampleDraft[], void>,
  { action, send, signal }: ChunkedSending,
): Promise<readonly string[]> {
  const sentChunks: SentChunk[] = [];
  const inFlight = new Set<Promise<void>>();
  const failures: unknown[] = [];
  const stopController = new AbortController();
  const onAbort = (): void => {
    const options = { cause: signal?.reason as unknown };
    fail(
      new AbortError(
        `Failed to ${action}: the call's signal was aborted; the error's cause is the reason`,
        options,
      ),
    );
  };
  // Without this promise, the loop below would notice a failure or an abort only when the source produces its next
  // item, which may take arbitrarily long.
  const sendingStopped = new Promise<undefined>((resolve) => {
    stopController.signal.addEventListener("abort", () => resolve(undefined));
  });

  function fail(error: unknown): void {
    failures.push(error);
    stopController.abort();
  }

  async function sendChunk(drafts: readonly ExampleDraft[], chunk: SentChunk): Promise<void> {
    try {
      await send(drafts);
      chunk.isConfirmed = true;
    } catch (error) {
      fail(error);
    }
  }

  function startSending(drafts: readonly ExampleDraft[]): void {
    const chunk: SentChunk = { ids: drafts.map(({ id }) => id), isConfirmed: false };
    sentChunks.push(chunk);
    const sending = sendChunk(drafts, chunk).finally(() => inFlight.delete(sending));
    inFlight.add(sending);
  }

  signal?.addEventListener("abort", onAbort);
  if (signal?.aborted === true) {
    onAbort();
  }
  while (failures.length === 0) {
    const nextResult = await Promise.race([chunks.next().catch(fail), sendingStopped]);
    if (nextResult === undefined || nextResult.done === true) {
      break;
    }
    startSending(nextResult.value);
    if (inFlight.size >= maxChunksInFlight) {
      await Promise.race(inFlight);
    }
  }
  signal?.removeEventListener("abort", onAbort);
  // Close the source. An error that it throws here is ignored: the failure above, if any, is the one to report.
  void chunks.return().catch(() => undefined);
  await Promise.all(inFlight);
  if (failures.length > 0) {
    throw createSendingError(action, sentChunks, failures[0]);
  }
  return sentChunks.flatMap(({ ids }) => ids);
}

function createSendingError(
  action: string,
  sentChunks: readonly SentChunk[],
  cause: unknown,
): unknown {
  const doneIds = sentChunks.filter(({ isConfirmed }) => isConfirmed).flatMap(({ ids }) => ids);
  if (doneIds.length === 0) {
    return cause;
  }
  const openIds = sentChunks.filter(({ isConfirmed }) => !isConfirmed).flatMap(({ ids }) => ids);
  const { message } = cause instanceof Error ? cause : { message: String(cause) };
  const requestId = cause instanceof SdkError ? cause.requestId : undefined;
  return new IncompleteError(
    `Failed to ${action}: ${doneIds.length} succeeded (doneIds), ${openIds.length} were sent without confirmation (openIds), and the remaining ones were not sent: ${message}`,
    { cause, doneIds, openIds, requestId },
  );
}
