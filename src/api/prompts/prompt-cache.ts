import {
  AbortError,
  ClosedError,
  HttpError,
  NotFoundError,
  ResponseError,
  SdkError,
} from "../../model/errors.ts";
import { omitUndefined } from "../../model/fields.ts";
import type { PromptCounts } from "../../model/records/prompt-counts.ts";
import { looksLikeHash, ownOwner } from "../../model/resources/prompt-identifier.ts";
import type { PromptReference } from "../../model/resources/prompt-identifier.ts";
import type { PulledPrompt } from "../../model/resources/prompt.ts";
import type { PromptSource, RuntimePrompt } from "../../model/resources/runtime-prompt.ts";
import type { KeyValues } from "../../model/run.ts";
import type { PromptSnapshots, StoredPrompt } from "./prompt-snapshots.ts";

/** Options of {@link PromptCache}. */
export interface PromptCacheOptions {
  readonly ttlMs: number;
  readonly waitMs: number;
  readonly maxPrompts: number;
  /** Maximum total size of the prompts in memory, as JSON. */
  readonly maxBytes: number;
  readonly snapshots: PromptSnapshots | undefined;
  readonly counts: PromptCounts;
  /** Logs a warning, unless a similar one was logged within the last minute. */
  readonly warn: (message: string) => void;
  /** Returns milliseconds since the Unix epoch. @defaultValue Date.now */
  readonly now?: () => number;
}

/** One call of `prompts.get`. */
export interface PromptRequest {
  readonly reference: PromptReference;
  readonly includeModel: boolean;
  readonly ttlMs?: number | undefined;
  readonly waitMs?: number | undefined;
  readonly fallback?: KeyValues | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Requests the prompt from the server. Without `attempts`, the client's option `attempts` applies. */
  readonly pull: (options: { readonly attempts?: number }) => Promise<PulledPrompt>;
}

/** Milliseconds after a failed request before the prompt is requested again in the background. */
const retryDelayMs = 10_000;

/**
 * The prompts that `prompts.get` keeps in memory. There are no timers: an expired prompt is requested again when a call
 * needs it, and that call gets the old version. At most one request for each prompt is in progress.
 */
export class PromptCache {
  readonly #options: PromptCacheOptions;
  readonly #now: () => number;
  /** Entries by key, the least recently used first. */
  readonly #entries = new Map<string, Entry>();
  readonly #pendingRequests = new Set<Promise<RequestResult>>();
  #bytes = 0;

  constructor(options: PromptCacheOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /**
   * Returns a prompt from memory or from the server, or else a substitute: an older version, the snapshot or the
   * fallback.
   *
   * @throws {@link SdkError} if the server did not send it, and there is no older version, snapshot or fallback.
   */
  async get(request: PromptRequest): Promise<RuntimePrompt> {
    throwIfAborted(request);
    const entry = this.#use(request);
    if (entry.stored !== undefined && this.#isFresh(entry, entry.stored, request)) {
      return this.#serve(entry.stored, request, "memory");
    }
    if (entry.stored === undefined) {
      await this.#readSnapshot(entry);
      throwIfAborted(request);
    }
    if (entry.stored !== undefined && isPinned(request)) {
      // A commit never changes, so no request is needed.
      entry.isConfirmed = true;
      return this.#serve(entry.stored, request, "snapshot");
    }
    if (entry.stored === undefined && request.fallback === undefined) {
      const result = await this.#waitWithoutLimit(entry, request);
      return this.#serve(unwrap(result, request), request, "server");
    }
    return this.#serveOrSubstitute(entry, request);
  }

  /**
   * Waits for the requests and file operations in progress. Close the connections first, so that these requests fail at
   * once.
   */
  async close(): Promise<void> {
    await Promise.all(this.#pendingRequests);
  }

  /**
   * Requests the prompt, and waits for the response unless a substitute may be served at once. Called only if there is
   * a substitute in case the request fails.
   */
  async #serveOrSubstitute(entry: Entry, request: PromptRequest): Promise<RuntimePrompt> {
    const { ttlMs = this.#options.ttlMs } = request;
    const hasOldVersion = entry.stored !== undefined && entry.isConfirmed;
    const mayServeNow = ttlMs > 0 && (hasOldVersion || entry.failure !== undefined);
    if (mayServeNow) {
      this.#refresh(entry, request);
      return this.#serveSubstitute(entry, request);
    }
    const result = await this.#wait(entry, request);
    if (result?.kind === "loaded") {
      return this.#serve(result.stored, request, "server");
    }
    if (result?.error instanceof ClosedError || result?.error instanceof AbortError) {
      throw result.error;
    }
    if (result !== undefined && entry.stored === undefined && request.fallback === undefined) {
      // The server responded that there is no such prompt, so the older version was removed.
      throw result.error;
    }
    return this.#serveSubstitute(entry, request, describeFailure(result?.error));
  }

  #serveSubstitute(
    entry: Entry,
    request: PromptRequest,
    reason = entry.failure && describeFailure(entry.failure.error),
  ): RuntimePrompt {
    if (entry.stored !== undefined) {
      const { prompt: older, fetchedAt } = entry.stored;
      const source = entry.isConfirmed ? "stale" : "snapshot";
      return this.#createResult(
        { ...older, fetchedAt, ...omitUndefined({ reason }) },
        request,
        source,
      );
    }
    const { owner, repo } = request.reference;
    const { fallback: manifest = {} } = request;
    const prompt = { owner, repo, manifest, examples: [] };
    return this.#createResult({ ...prompt, ...omitUndefined({ reason }) }, request, "fallback");
  }

  #serve(
    { prompt, fetchedAt }: StoredPrompt,
    request: PromptRequest,
    source: PromptSource,
  ): RuntimePrompt {
    return this.#createResult({ ...prompt, fetchedAt }, request, source);
  }

  /**
   * Counts the source of a prompt and returns the result of a call. If the prompt has a `reason`, it is a substitute,
   * and a warning is logged.
   */
  #createResult(
    prompt: Omit<RuntimePrompt, "name" | "source">,
    { reference }: PromptRequest,
    source: PromptSource,
  ): RuntimePrompt {
    const name = formatName(reference);
    this.#options.counts.count(source);
    if (prompt.reason !== undefined) {
      this.#options.warn(
        `prompts.get(${JSON.stringify(name)}) returned ${sourceTexts[source]}: ${prompt.reason}`,
      );
    }
    return Object.freeze({ ...prompt, name, source });
  }

  #isFresh({ isConfirmed }: Entry, { fetchedAt }: StoredPrompt, request: PromptRequest): boolean {
    const { ttlMs = this.#options.ttlMs } = request;
    const ageMs = this.#now() - fetchedAt;
    // A negative age means that the system's clock was set back.
    return isConfirmed && (isPinned(request) || (ageMs >= 0 && ageMs < ttlMs));
  }

  /** Requests the prompt for later calls, unless a request failed less than {@link retryDelayMs} ago. */
  #refresh(entry: Entry, request: PromptRequest): void {
    const { failure } = entry;
    if (failure === undefined || this.#now() - failure.at >= retryDelayMs) {
      this.#startOrJoinRequest(entry, request, 1);
    }
  }

  /**
   * Requests the prompt with one attempt, and waits for at most `waitMs`. Returns `undefined` if no response arrived in
   * that time.
   */
  async #wait(entry: Entry, request: PromptRequest): Promise<RequestResult | undefined> {
    const { waitMs = this.#options.waitMs } = request;
    const { result, startedAt } = this.#startOrJoinRequest(entry, request, 1);
    // The request may have been started by an earlier call. The time limit counts from its start.
    const remainingMs = Math.max(0, startedAt + waitMs - performance.now());
    return waitForResult(result, { remainingMs, signal: request.signal });
  }

  /** Requests the prompt with as many attempts as the client's options allow, and waits without a time limit. */
  async #waitWithoutLimit(entry: Entry, request: PromptRequest): Promise<RequestResult> {
    for (;;) {
      const pendingRequest = this.#startOrJoinRequest(entry, request, undefined);
      const result = await waitForResult(pendingRequest.result, { signal: request.signal });
      // The request may have been started by a call that has a substitute, with one attempt. This call has no
      // substitute, so it sends another request after a temporary failure.
      const isFinal = result?.kind === "loaded" || result?.error.retryable === false;
      if (result !== undefined && (isFinal || pendingRequest.attempts === undefined)) {
        return result;
      }
    }
  }

  /** Returns the request in progress, or starts a request. */
  #startOrJoinRequest(
    entry: Entry,
    request: PromptRequest,
    attempts: 1 | undefined,
  ): PendingRequest {
    if (entry.pendingRequest === undefined) {
      const result = this.#load(entry, request, attempts).finally(() => {
        entry.pendingRequest = undefined;
        this.#pendingRequests.delete(result);
      });
      entry.pendingRequest = { result, attempts, startedAt: performance.now() };
      this.#pendingRequests.add(result);
    }
    return entry.pendingRequest;
  }

  /** Requests a prompt and stores it. Never rejects. */
  async #load(
    entry: Entry,
    { reference, pull }: PromptRequest,
    attempts: 1 | undefined,
  ): Promise<RequestResult> {
    let stored: StoredPrompt;
    let bytes: number;
    try {
      const prompt = await pull(omitUndefined({ attempts }));
      assertCommit(prompt, reference);
      bytes = measureBytes(prompt);
      stored = { prompt: freezeDeeply(prompt), fetchedAt: this.#now() };
    } catch (thrown) {
      const error = toSdkError(thrown);
      await this.#fail(entry, error);
      return { kind: "failed", error };
    }
    entry.failure = undefined;
    this.#store(entry, stored, bytes);
    const { commitHash } = stored.prompt;
    if (entry.savedCommit !== commitHash) {
      await this.#options.snapshots?.write(entry.key, stored);
      entry.savedCommit = commitHash;
    }
    return { kind: "loaded", stored };
  }

  async #fail(entry: Entry, error: SdkError): Promise<void> {
    if (error instanceof ClosedError || error instanceof AbortError) {
      // The call ended early, so this error is not a failure of the server.
      return;
    }
    entry.failure = { error, at: this.#now() };
    if (error instanceof NotFoundError) {
      // The server has no such prompt, so an older version must not be served any more.
      this.#store(entry, undefined, 0);
      entry.savedCommit = undefined;
      await this.#options.snapshots?.remove(entry.key);
    }
  }

  /** Reads the snapshot into memory, once for all calls that wait for it. */
  async #readSnapshot(entry: Entry): Promise<void> {
    const { snapshots } = this.#options;
    if (snapshots !== undefined) {
      entry.snapshotRead ??= this.#loadSnapshot(entry, snapshots);
      await entry.snapshotRead;
    }
  }

  async #loadSnapshot(entry: Entry, snapshots: PromptSnapshots): Promise<void> {
    const stored = await snapshots.read(entry.key);
    entry.snapshotRead = undefined;
    if (stored !== undefined && entry.stored === undefined) {
      this.#store(entry, freezeDeeply(stored), measureBytes(stored.prompt));
      entry.isConfirmed = false;
    }
  }

  /** Returns the entry of a prompt, and marks it as the most recently used. */
  #use(request: PromptRequest): Entry {
    const key = toKey(request);
    const entry = this.#entries.get(key) ?? createEntry(key);
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    this.#evict();
    return entry;
  }

  /** Stores a version of a prompt, or removes it. A prompt that is larger than the limit is not kept. */
  #store(entry: Entry, stored: StoredPrompt | undefined, bytes: number): void {
    // The entry may have been evicted during the request, and the identifier may have a new entry.
    this.#remove(this.#entries.get(entry.key));
    entry.stored = undefined;
    entry.bytes = 0;
    entry.isConfirmed = true;
    if (bytes > this.#options.maxBytes) {
      this.#options.warn(
        `The prompt ${entry.key} is not kept in memory: its ${bytes} bytes exceed the option maxPromptCacheBytes`,
      );
      return;
    }
    this.#entries.set(entry.key, entry);
    entry.stored = stored;
    entry.bytes = bytes;
    this.#bytes += bytes;
    this.#evict();
  }

  #evict(): void {
    const { maxPrompts, maxBytes } = this.#options;
    for (const entry of this.#entries.values()) {
      if (this.#entries.size <= maxPrompts && this.#bytes <= maxBytes) {
        return;
      }
      this.#remove(entry);
    }
  }

  #remove(entry: Entry | undefined): void {
    if (entry !== undefined) {
      this.#entries.delete(entry.key);
      this.#bytes -= entry.bytes;
      entry.bytes = 0;
    }
  }
}

/** A prompt in memory, with the state of its requests and its snapshot. */
interface Entry {
  readonly key: string;
  stored: StoredPrompt | undefined;
  /** Whether `stored` came from the server, not from a snapshot. */
  isConfirmed: boolean;
  bytes: number;
  /** The failure of the last request; `undefined` after a success. */
  failure: { readonly error: SdkError; readonly at: number } | undefined;
  pendingRequest: PendingRequest | undefined;
  /** Resolves when the snapshot has been read; `undefined` if it is not being read. */
  snapshotRead: Promise<void> | undefined;
  /** Hash of the commit in the snapshot that this process wrote last. */
  savedCommit: string | undefined;
}

interface PendingRequest {
  readonly result: Promise<RequestResult>;
  /** Number of attempts; `undefined` means as many as the client's options allow. */
  readonly attempts: 1 | undefined;
  /** When the request began, in milliseconds of `performance.now`. */
  readonly startedAt: number;
}

type RequestResult =
  | { readonly kind: "loaded"; readonly stored: StoredPrompt }
  | { readonly kind: "failed"; readonly error: SdkError };

const createEntry = (key: string): Entry => ({
  key,
  stored: undefined,
  isConfirmed: true,
  bytes: 0,
  failure: undefined,
  pendingRequest: undefined,
  snapshotRead: undefined,
  savedCommit: undefined,
});

const sourceTexts: Readonly<Record<PromptSource, string>> = {
  server: "the server's version",
  memory: "the version in memory",
  stale: "an expired version",
  snapshot: "the snapshot on disk",
  fallback: "the fallback",
};

/** Whether the caller names a commit by its hash. */
const isPinned = ({ reference: { commit } }: PromptRequest): boolean =>
  commit !== undefined && looksLikeHash(commit);

const toKey = ({ reference: { owner, repo, commit = "latest" }, includeModel }: PromptRequest) =>
  `${owner}/${repo}:${commit}${includeModel ? " with model" : ""}`;

const formatName = ({ owner, repo, commit }: PromptReference): string =>
  (owner === ownOwner ? repo : `${owner}/${repo}`) + (commit === undefined ? "" : `:${commit}`);

/** @throws {@link ResponseError} if the server sent another commit than the one with the requested hash. */
function assertCommit({ commitHash }: PulledPrompt, { commit }: PromptReference): void {
  if (commit !== undefined && looksLikeHash(commit) && !commitHash.startsWith(commit)) {
    throw new ResponseError(
      `Failed to get the prompt: the server sent the commit ${commitHash} instead of ${commit}. Check that the endpoint is the address of the API`,
    );
  }
}

/** Returns the size as JSON, in bytes. @throws {@link ResponseError} if the prompt is nested too deeply. */
function measureBytes(prompt: PulledPrompt): number {
  try {
    return Buffer.byteLength(JSON.stringify(prompt));
  } catch (cause) {
    throw new ResponseError(
      "Failed to get the prompt: its manifest is nested too deeply. Commit a manifest with fewer levels",
      { cause },
    );
  }
}

/**
 * Freezes a JSON value and everything in it. The function is not recursive, so deep nesting can't exhaust the stack.
 */
function freezeDeeply<Value extends object>(value: Value): Value {
  const remaining: object[] = [value];
  for (let item = remaining.pop(); item !== undefined; item = remaining.pop()) {
    for (const member of Object.values(item) as readonly unknown[]) {
      if (typeof member === "object" && member !== null) {
        remaining.push(member);
      }
    }
    Object.freeze(item);
  }
  return value;
}

const toSdkError = (thrown: unknown): SdkError =>
  thrown instanceof SdkError
    ? thrown
    : new ResponseError(`Failed to get the prompt: ${String(thrown)}`, { cause: thrown });

/** Returns the loaded prompt. @throws the error of a failed request, with advice on how to provide a substitute. */
function unwrap(result: RequestResult, { reference }: PromptRequest): StoredPrompt {
  if (result.kind === "loaded") {
    return result.stored;
  }
  const { error } = result;
  if (
    error instanceof NotFoundError ||
    error instanceof ClosedError ||
    error instanceof AbortError
  ) {
    throw error;
  }
  throw addAdvice(
    error,
    `There is no older version of the prompt ${formatName(reference)}: pass prompts.get a fallback, or set promptSnapshotDir (MILLRACE_PROMPT_SNAPSHOT_DIR), to go on without the server`,
  );
}

/** Returns an error of the same class whose message ends with `advice`. */
function addAdvice(cause: SdkError, advice: string): SdkError {
  const message = `${cause.message.replace(/\.$/, "")}. ${advice}`;
  const { requestId } = cause;
  if (cause instanceof HttpError) {
    const { status, detail: body } = cause;
    const HttpErrorClass = cause.constructor as typeof HttpError;
    const action = "get the prompt";
    return new HttpErrorClass({ action, status, body, message, cause, requestId });
  }
  const ErrorClass = cause.constructor as new (text: string, options: ErrorOptions) => SdkError;
  return new ErrorClass(message, { cause, ...omitUndefined({ requestId }) });
}

/** Describes why the server's current version can't be served. */
const describeFailure = (error: SdkError | undefined): string =>
  error === undefined ? "the server did not respond in time (waitMs)" : error.message;

function throwIfAborted({ signal }: Pick<PromptRequest, "signal">): void {
  if (signal?.aborted === true) {
    throw createAbortError(signal);
  }
}

const createAbortError = (signal: AbortSignal): AbortError =>
  new AbortError(
    "Failed to get the prompt: the call's signal was aborted; the error's cause is the reason. Call again if you still need the result",
    { cause: signal.reason as unknown },
  );

/** Conditions that end a wait before its result is available. */
interface WaitLimits {
  /** @defaultValue no limit */
  readonly remainingMs?: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Waits for the result of a request that several calls may share. Returns `undefined` after the time limit.
 *
 * @throws {@link AbortError} when the signal aborts. The request continues, because other calls may wait for it.
 */
async function waitForResult<Result>(
  result: Promise<Result>,
  { remainingMs, signal }: WaitLimits,
): Promise<Result | undefined> {
  let timer: NodeJS.Timeout | undefined;
  let onAbort: (() => void) | undefined;
  const limit = new Promise<undefined>((resolve, reject) => {
    if (remainingMs !== undefined) {
      timer = setTimeout(resolve, remainingMs, undefined);
    }
    if (signal !== undefined) {
      onAbort = () => reject(createAbortError(signal));
      signal.addEventListener("abort", onAbort, { once: true });
    }
  });
  try {
    return await Promise.race([result, limit]);
  } finally {
    clearTimeout(timer);
    if (onAbort !== undefined) {
      signal?.removeEventListener("abort", onAbort);
    }
  }
}
