import { ValidationError } from "../../main/index.ts";
import { Deferred } from "../../model/deferred.ts";
import { createNamedId, IdCounter } from "../ids.ts";
import { describeError } from "../rows/deadline.ts";
import type { CacheCounts } from "../result.ts";
import type { RowContext } from "../rows/row-context.ts";
import { readCacheFile, renameDamaged, toCachePath, writeCacheFile } from "./cache-file.ts";
import type { CachedExchange } from "./cache-file.ts";
import type { CacheMode } from "./cache-options.ts";
import { observeBody, replayChunks } from "./observe-body.ts";
import type { ObservedBody } from "./observe-body.ts";
import { readRequest } from "./request.ts";
import type { CacheableRequest, FetchArguments } from "./request.ts";
import { isStreamType, redactBody, toChunks, toStoredBody } from "./stored-body.ts";
import type { Redact } from "./stored-body.ts";

/** Options of a {@link RequestCache}. */
export interface RequestCacheInit {
  readonly mode: CacheMode;
  readonly folder: string;
  readonly redact: Redact;
  readonly warn: (message: string) => void;
}

/**
 * A request, with the numbers that distinguish it from equal requests: the repetition of its row, and its occurrence
 * within the row.
 */
interface NumberedRequest {
  readonly request: CacheableRequest;
  readonly repetition: number;
  readonly occurrence: number;
  readonly path: string;
  readonly context: RowContext | undefined;
}

/** Longest wait for responses whose bodies have not ended, in milliseconds. */
const drainTimeoutMs = 5_000;
/** Longest wait for responses that were cancelled, and for requests without a response, in milliseconds. */
const stopTimeoutMs = 1_000;
/** Largest request body that is stored, in bytes. The body is stored only for people who read the file. */
const maxStoredRequestBytes = 262_144;
/** Namespace of the ids of recorded responses. */
const pathNamespace = "7d5e7f0a-0c0f-4a52-8d6f-3a3c0a4f6f7e";
/** Statuses of responses that have no body. */
const emptyStatuses: ReadonlySet<number> = new Set([204, 205]);

/**
 * Replays recorded responses from files. Sends requests that have no recorded response, and records their responses.
 */
export class RequestCache {
  readonly #init: RequestCacheInit;
  /** Promises of the requests in progress, by the path of their file. They never reject. */
  readonly #inFlight = new Map<string, Promise<void>>();
  /** The responses that this object recorded. The mode `record` replays them for further equal requests. */
  readonly #recorded = new IdCounter();
  /** Functions that cancel the response bodies that are being read. */
  readonly #openBodies = new Set<() => void>();
  readonly #counts = { replayed: 0, recorded: 0, passed: 0, missed: 0 };

  constructor(init: RequestCacheInit) {
    this.#init = init;
  }

  get counts(): CacheCounts {
    return { ...this.#counts };
  }

  /** Waits until the received responses have been stored. Bodies that don't end in time are cancelled. */
  async drain(timeoutMs = drainTimeoutMs): Promise<void> {
    await this.#waitForResponses(timeoutMs);
    this.#openBodies.forEach((stop) => stop());
    await this.#waitForResponses(stopTimeoutMs);
  }

  async #waitForResponses(timeoutMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, timeoutMs);
    });
    await Promise.race([Promise.all(this.#inFlight.values()), timeout]);
    clearTimeout(timer);
  }

  /**
   * Returns the response to a request: from a file, or from `fetch`.
   *
   * @param context - the row that the request is part of.
   * @throws {@link ValidationError} in the mode `replay`, if no file contains the response, or if the file is damaged.
   */
  async send(
    fetch: typeof globalThis.fetch,
    args: FetchArguments,
    context: RowContext | undefined,
  ): Promise<Response> {
    const request = await readRequest(args);
    if (request === undefined) {
      return fetch(...args);
    }
    if ("tooLarge" in request) {
      this.#countUnrecorded(
        "a request has a body that is too large, so its response is not recorded",
        context,
      );
      return fetch(...request.tooLarge);
    }
    request.signal.throwIfAborted();
    const repetition = context?.row.repetition ?? 1;
    const occurrence = context?.occurrences.take(request.digest) ?? 1;
    const path = toCachePath(this.#init.folder, request, { repetition, occurrence });
    const numbered = { request, repetition, occurrence, path, context };
    try {
      for (
        let earlier = this.#inFlight.get(path);
        earlier !== undefined;
        earlier = this.#inFlight.get(path)
      ) {
        // Another row is sending the same request. Wait for its response, which is then read from the file.
        await waitUnlessAborted(earlier, request.signal);
      }
    } catch (error) {
      context?.occurrences.release(request.digest, occurrence);
      throw error;
    }
    const inFlight = new Deferred<void>();
    this.#inFlight.set(path, inFlight.promise);
    const finish = (isStored: boolean): void => {
      if (!isStored) {
        context?.occurrences.release(request.digest, occurrence);
      }
      this.#inFlight.delete(path);
      inFlight.resolve();
    };
    try {
      const stored = await this.#read(numbered);
      if (stored !== undefined) {
        finish(true);
        this.#counts.replayed += 1;
        return toResponse(stored.response, request);
      }
      return this.#record(numbered, await fetch(...request.args), finish);
    } catch (error) {
      finish(false);
      throw error;
    }
  }

  /** Reads the recorded response. Returns `undefined` if the request has to be sent. */
  async #read(numbered: NumberedRequest): Promise<CachedExchange | undefined> {
    const { mode } = this.#init;
    const { path } = numbered;
    if (mode === "record" && !this.#recorded.has(toId(path))) {
      return undefined;
    }
    const entry = await readCacheFile(path);
    if (entry.kind === "found") {
      if (entry.isEdited) {
        this.#init.warn(
          `cache: ${path} was edited after it was recorded. The edited response is used; remove the file to record the response again.`,
        );
      }
      return entry.exchange;
    }
    if (mode === "replay") {
      this.#counts.missed += 1;
      throw this.#createMissError(numbered, entry.kind === "damaged" ? entry.reason : undefined);
    }
    if (entry.kind === "damaged") {
      const newPath = await renameDamaged(path);
      this.#init.warn(
        `cache: ${path} can't be read (${entry.reason}). It was renamed to ${newPath}, and the request is sent again.`,
      );
    }
    return undefined;
  }

  #createMissError(
    { request, repetition, occurrence, path, context }: NumberedRequest,
    damage: string | undefined,
  ): ValidationError {
    const message =
      damage === undefined
        ? `The cache has no response to ${request.method} ${request.url} (repetition ${repetition}, occurrence ${occurrence}; ${path}), and the mode "replay" sends no request. Use the mode "auto" to record it`
        : `The file ${path} of the cache can't be read: ${damage}. Restore it, or use the mode "auto" to record the response again`;
    // API clients replace the message of an error from `fetch` with their own, so the message is also stored with the
    // row.
    context?.problems.add(message);
    return new ValidationError(message);
  }

  #record(
    numbered: NumberedRequest,
    response: Response,
    finish: (isStored: boolean) => void,
  ): Response {
    const { request, context } = numbered;
    if (!response.ok) {
      // A response such as "too many requests" must not be replayed. The program may send the request again.
      this.#counts.passed += 1;
      finish(false);
      return response;
    }
    const body = response.body as ReadableStream<Uint8Array> | null;
    if (body !== null && !(body instanceof ReadableStream)) {
      this.#countUnrecorded(
        `the response to ${request.method} ${request.url} is not a Response of the Fetch standard, so it is not recorded`,
        context,
      );
      finish(false);
      return response;
    }
    const { stream, observed, stop } = body === null ? emptyBody : observeBody(body);
    this.#openBodies.add(stop);
    void (async () => {
      let isStored = false;
      try {
        const content = await observed;
        if (content.kind === "complete") {
          await this.#store(numbered, response, content.chunks);
          isStored = true;
        } else {
          this.#countUnrecorded(
            `the response to ${request.method} ${request.url} is not recorded, because ${content.reason}`,
            context,
          );
        }
      } catch (error) {
        this.#countUnrecorded(
          `the file ${numbered.path} can't be written: ${describeError(error)}; the next run sends the request again`,
          context,
        );
      } finally {
        this.#openBodies.delete(stop);
        finish(isStored);
      }
    })();
    return createResponse(stream, response, response.url);
  }

  async #store(
    { request, repetition, occurrence, path }: NumberedRequest,
    { status, headers }: Response,
    chunks: readonly Uint8Array[],
  ): Promise<void> {
    const { redact } = this.#init;
    const contentType = headers.get("content-type") ?? undefined;
    const { method, url, body } = request;
    const storedRequestBody =
      body.length > maxStoredRequestBytes
        ? { text: `[${body.length} bytes, too large to be stored]` }
        : toStoredBody([body], false);
    await writeCacheFile(path, {
      request: {
        method,
        url: String(await redact(url)),
        repetition,
        occurrence,
        ...(body.length === 0 ? {} : { body: await redactBody(storedRequestBody, redact) }),
      },
      response: {
        status,
        ...(contentType === undefined ? {} : { contentType }),
        body: await redactBody(toStoredBody(chunks, isStreamType(contentType)), redact),
      },
    });
    this.#recorded.add(toId(path));
    this.#counts.recorded += 1;
  }

  /** Counts a request whose response is not recorded. */
  #countUnrecorded(reason: string, context: RowContext | undefined): void {
    this.#counts.passed += 1;
    this.#init.warn(`cache: ${reason}.`);
    context?.problems.add(`cache: ${reason}`);
  }
}

const emptyBody = {
  stream: null,
  observed: Promise.resolve<ObservedBody>({ kind: "complete", chunks: [] }),
  stop: () => undefined,
};

/** @throws the signal's reason, if it is aborted first. */
async function waitUnlessAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = new Deferred<never>();
  const onAbort = (): void => aborted.reject(signal.reason as Error);
  signal.addEventListener("abort", onAbort);
  try {
    signal.throwIfAborted();
    await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

const toId = (path: string): string => createNamedId(pathNamespace, path);

function toResponse(
  { status, contentType, body }: CachedExchange["response"],
  { address, signal }: CacheableRequest,
): Response {
  const headers = new Headers(contentType === undefined ? {} : { "content-type": contentType });
  const stream = emptyStatuses.has(status) ? null : replayChunks(toChunks(body), signal);
  return createResponse(stream, { status, headers, statusText: "" }, address);
}

function createResponse(
  body: ReadableStream<Uint8Array> | null,
  { status, statusText, headers }: Pick<Response, "status" | "statusText" | "headers">,
  url: string,
): Response {
  const response = new Response(body, { status, statusText, headers });
  // `new Response` can't set the URL.
  Object.defineProperty(response, "url", { value: url, configurable: true });
  return response;
}
