import { AbortError, IncompleteError, SdkError } from "../model/errors.ts";
import type { ExampleDraft } from "./datasets/example-wire.ts";

/** Requests of one call that are under way at once. */
const chunksInFlight = 4;

export interface ChunkLimits {
  /** Examples of one request. */
  readonly count: number;
  /** Bytes of one request; an example that is larger goes alone. */
  readonly bytes: number;
}

/** Drafts by request, in order; no more are taken from the source than are asked for. */
export async function* chunksOfDrafts<Item>(
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

export interface ChunkedSending {
  readonly action: string;
  readonly send: (drafts: readonly ExampleDraft[]) => Promise<void>;
  readonly signal?: AbortSignal | undefined;
}

interface Sent {
  readonly ids: readonly string[];
  isDone: boolean;
}

/**
 * Sends chunks, a few at a time; after a failure no more, and it ends when those under way have.
 *
 * @returns the ids, in the order of the chunks.
 * @throws {@link IncompleteError} some were sent with success before the failure, which is its cause;
 * else the failure itself.
 */
export async function sendInChunks(
  chunks: AsyncGenerator<readonly ExampleDraft[], void>,
  { action, send, signal }: ChunkedSending,
): Promise<readonly string[]> {
  const sent: Sent[] = [];
  const inFlight = new Set<Promise<void>>();
  const failures: unknown[] = [];
  const stop = new AbortController();
  const onAbort = (): void => {
    const options = { cause: signal?.reason as unknown };
    fail(
      new AbortError(
        `Failed to ${action}: the signal of the call was aborted, for the reason that is the cause`,
        options,
      ),
    );
  };
  // A source may take its time: neither a failure nor the caller's end waits for it.
  const stopped = new Promise<undefined>((resolve) => {
    stop.signal.addEventListener("abort", () => resolve(undefined));
  });

  function fail(error: unknown): void {
    failures.push(error);
    stop.abort();
  }

  async function sendOne(drafts: readonly ExampleDraft[], one: Sent): Promise<void> {
    try {
      await send(drafts);
      one.isDone = true;
    } catch (error) {
      fail(error);
    }
  }

  function begin(drafts: readonly ExampleDraft[]): void {
    const one: Sent = { ids: drafts.map(({ id }) => id), isDone: false };
    sent.push(one);
    const work = sendOne(drafts, one).finally(() => inFlight.delete(work));
    inFlight.add(work);
  }

  signal?.addEventListener("abort", onAbort);
  if (signal?.aborted === true) {
    onAbort();
  }
  while (failures.length === 0) {
    const step = await Promise.race([chunks.next().catch(fail), stopped]);
    if (step === undefined || step.done === true) {
      break;
    }
    begin(step.value);
    if (inFlight.size >= chunksInFlight) {
      await Promise.race(inFlight);
    }
  }
  signal?.removeEventListener("abort", onAbort);
  // Ends the source; what that throws comes after the failure that matters.
  void chunks.return().catch(() => undefined);
  await Promise.all(inFlight);
  if (failures.length > 0) {
    throw failureOf(action, sent, failures[0]);
  }
  return sent.flatMap(({ ids }) => ids);
}

function failureOf(action: string, sent: readonly Sent[], cause: unknown): unknown {
  const doneIds = sent.filter(({ isDone }) => isDone).flatMap(({ ids }) => ids);
  if (doneIds.length === 0) {
    return cause;
  }
  const openIds = sent.filter(({ isDone }) => !isDone).flatMap(({ ids }) => ids);
  const { message } = cause instanceof Error ? cause : { message: String(cause) };
  const requestId = cause instanceof SdkError ? cause.requestId : undefined;
  return new IncompleteError(
    `Failed to ${action} after ${doneIds.length} (doneIds); ${openIds.length} more were sent, to no success that we know of (openIds), and the rest was not: ${message}`,
    { cause, doneIds, openIds, requestId },
  );
}
