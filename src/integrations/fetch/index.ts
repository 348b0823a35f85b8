import { AsyncLocalStorage } from "node:async_hooks";
import { isInModelCall, OptionError, recordExchange } from "../../main/index.ts";
import type { ExchangeRun, KeyValues, NewExchangeOptions } from "../../main/index.ts";
import { Attempts } from "./attempts.ts";
import type { SentRequest } from "./attempts.ts";
import { createRecognition } from "./recognize-call.ts";
import type { ApiCall, ProviderAddress, ProviderName, RecognizeCall } from "./recognize-call.ts";
import { addBodyLater, findRequestBody } from "./request-body.ts";
import { recordResponseBody } from "./response-body.ts";
import { checkRunOptions, currentRunOptions } from "./run-options.ts";

export type { ProviderAddress, ProviderName } from "./recognize-call.ts";
export { withRunOptions } from "./run-options.ts";
export type { CallRunOptions } from "./run-options.ts";

/** Options of {@link tracedFetch}. */
export interface TracedFetchOptions extends Pick<NewExchangeOptions, "client"> {
  /**
   * The APIs whose calls are recorded: a provider's name, which applies on any host, or the address of a server with a
   * provider's API.
   * @defaultValue all providers
   */
  readonly providers?: readonly (ProviderName | ProviderAddress)[] | undefined;
  /** The name of the runs. @defaultValue a name that the call determines */
  readonly name?: string | undefined;
  readonly metadata?: KeyValues | undefined;
}

const optionNames = ["client", "providers", "name", "metadata"];

/**
 * Key of a property that marks the functions that {@link tracedFetch} returns. Every copy of this package uses the same
 * key.
 */
const tracedKey = Symbol.for("millrace.tracedFetch");

/**
 * A call that a traced `fetch` is making. If it calls another traced `fetch`, the inner one does not record the call
 * again.
 */
interface CallInProgress {
  readonly url: string;
  isActive: boolean;
}

/**
 * Returns a `fetch` that records each call of a model's API as a run: the APIs of OpenAI, Anthropic and Gemini, and
 * servers with the same API. It passes on every request, response and error unchanged and without delay. The bytes of
 * request and response are copied, and a worker parses them. All other requests are passed on without being recorded.
 *
 * Headers and the query of an address are not recorded, because they may contain keys. Further attempts of the same
 * call belong to its run. If a response is not read, its run ends when the response is garbage collected or the client
 * flushes.
 *
 * @param fetch - sends the requests. By default `globalThis.fetch` at the time of each request. A traced `fetch` is
 * returned unchanged.
 * @throws `OptionError` if an option is unknown or not valid.
 */
export function tracedFetch(
  fetch?: typeof globalThis.fetch,
  options: TracedFetchOptions = {},
): typeof globalThis.fetch {
  checkOptions(fetch, options);
  if (fetch !== undefined && isTraced(fetch)) {
    return fetch;
  }
  const recorder = new CallRecorder(options);
  const globalAtStart = globalThis.fetch;
  const traced: typeof globalThis.fetch = (...args) => {
    const targetFetch = fetch ?? globalThis.fetch;
    // The program may have made this function its global `fetch`.
    return recorder.send(targetFetch === traced ? globalAtStart : targetFetch, args);
  };
  Object.defineProperty(traced, tracedKey, { value: true });
  Object.defineProperty(traced, "name", { value: "fetch", configurable: true });
  return traced;
}

function checkOptions(fetch: unknown, options: object): void {
  if (fetch !== undefined && typeof fetch !== "function") {
    throw new OptionError(
      "The first argument of tracedFetch must be a fetch function, or undefined for the global one.",
    );
  }
  checkRunOptions("tracedFetch", options, optionNames);
}

const isTraced = (fetch: typeof globalThis.fetch): boolean => tracedKey in fetch;

type FetchArguments = Parameters<typeof globalThis.fetch>;

/** A call of a model's API, with the arguments of `fetch`. */
interface Call extends ApiCall {
  readonly input: FetchArguments[0];
  readonly init: FetchArguments[1];
}

/** Statuses after which client libraries send a request again. */
const retriedStatuses: ReadonlySet<number> = new Set([408, 409, 429]);

/** Sends requests, and records those that are calls of a model's API. */
class CallRecorder {
  readonly #options: TracedFetchOptions;
  readonly #recognize: RecognizeCall;
  readonly #attempts = new Attempts();

  constructor(options: TracedFetchOptions) {
    this.#options = options;
    this.#recognize = createRecognition(options.providers);
  }

  /** Calls `target` with the arguments, and returns its result. */
  send(target: typeof globalThis.fetch, args: FetchArguments): Promise<Response> {
    const call = this.#findCall(args);
    const started = call === undefined ? undefined : this.#start(call);
    if (started === undefined) {
      return target(...args);
    }
    const { exchange, rememberFailure, progress } = started;
    const onFailure = (error: unknown): never => {
      progress.isActive = false;
      rememberFailure();
      exchange.end({ ending: "failed", error });
      throw error;
    };
    let result: Promise<Response>;
    try {
      result = callsInProgress.run(progress, () => target(...args));
    } catch (error) {
      return onFailure(error);
    }
    if (!isPromise(result)) {
      // The program's own `fetch` may return any value.
      progress.isActive = false;
      recordResponse(result, exchange, rememberFailure);
      return result;
    }
    return result.then((response) => {
      progress.isActive = false;
      recordResponse(response, exchange, rememberFailure);
      return response;
    }, onFailure);
  }

  /** Returns the call that a request makes; `undefined` if it is not recorded. Never throws. */
  #findCall([input, init]: FetchArguments): Call | undefined {
    try {
      if (isInModelCall()) {
        return undefined;
      }
      const method = init?.method ?? (input instanceof Request ? input.method : "GET");
      if (method.toUpperCase() !== "POST") {
        return undefined;
      }
      const address = input instanceof Request ? input.url : String(input);
      const url = this.#recognize(address);
      if (url === undefined || isInModelCall()) {
        // The address is not that of a model's API, or the request belongs to a call that another integration records,
        // such as the AI SDK's.
        return undefined;
      }
      const outer = callsInProgress.getStore();
      const isRecordedByOuter = outer?.isActive === true && outer.url === url.url;
      return isRecordedByOuter ? undefined : { ...url, input, init };
    } catch {
      // The arguments can't be read. They are passed on to `fetch`, which throws for them.
      return undefined;
    }
  }

  /** Starts the run of a call, or another attempt of an earlier one. Returns `undefined` if it is not recorded. */
  #start({ format, url, input, init }: Call):
    | {
        readonly exchange: ExchangeRun;
        readonly rememberFailure: () => void;
        readonly progress: CallInProgress;
      }
    | undefined {
    try {
      const headers = init?.headers ?? (input instanceof Request ? input.headers : undefined);
      const request: SentRequest = {
        url,
        body: init?.body,
        retryCount: toCount(readHeader(headers, "x-stainless-retry-count")),
        init,
      };
      const earlier = this.#attempts.takeFailedCall(request);
      earlier?.beginAttempt();
      const exchange = earlier ?? this.#createExchange({ format, url, input, init }, headers);
      if (!exchange.isRecorded) {
        return undefined;
      }
      const rememberFailure = this.#attempts.prepare(request, exchange);
      return { exchange, rememberFailure, progress: { url, isActive: true } };
    } catch {
      // The request can't be read, for example because of a getter that throws. `fetch` then throws too.
      return undefined;
    }
  }

  #createExchange({ format, url, input, init }: Call, headers: unknown): ExchangeRun {
    const { client, name, metadata } = this.#options;
    const body = findRequestBody(input, init);
    const exchange = recordExchange({
      ...currentRunOptions({ name, metadata }),
      client,
      format,
      url,
      request: body.body,
      requestType: body.contentType ?? readHeader(headers, "content-type"),
    });
    if (body.warning !== undefined) {
      exchange.addWarning(body.warning);
    }
    if (exchange.isRecorded) {
      addBodyLater(exchange, body);
    }
    return exchange;
  }
}

const isPromise = (value: unknown): value is Promise<Response> =>
  typeof value === "object" && value !== null && "then" in value;

/** Reads the id under which the API's operator can find a request. The header depends on the API. */
const readRequestId = (headers: Headers): string | null =>
  headers.get("x-request-id") ?? headers.get("request-id");

/** Records a response while the program reads it. Never throws. */
function recordResponse(
  response: Response,
  exchange: ExchangeRun,
  rememberFailure: () => void,
): void {
  try {
    const { status, headers } = response;
    exchange.respond({
      status,
      contentType: headers.get("content-type") ?? undefined,
      requestId: readRequestId(headers) ?? undefined,
    });
    if (retriedStatuses.has(status) || status >= 500) {
      rememberFailure();
    }
    recordResponseBody(response, exchange);
  } catch {
    exchange.addWarning("The response can't be read; its body was not recorded");
    exchange.end();
  }
}

const toCount = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,4}$/.test(text) ? Number(text) : undefined;

function readHeader(headers: unknown, name: string): string | undefined {
  if (headers instanceof Headers) {
    return headers.get(name) ?? undefined;
  }
  if (typeof headers !== "object" || headers === null) {
    return undefined;
  }
  const entries: readonly unknown[] = Array.isArray(headers) ? headers : Object.entries(headers);
  for (const entry of entries) {
    const [key, value] = Array.isArray(entry) ? (entry as readonly unknown[]) : [];
    if (typeof key === "string" && key.toLowerCase() === name) {
      return typeof value === "string" ? value : undefined;
    }
  }
  return undefined;
}

/**
 * The call that is made in the current asynchronous context. All copies of this package in a process share this
 * storage.
 */
const callsInProgress = findCallsInProgress();

function findCallsInProgress(): AsyncLocalStorage<CallInProgress> {
  const key = Symbol.for("millrace.fetch.calls");
  const shared: unknown = Reflect.get(globalThis, key);
  if (shared instanceof AsyncLocalStorage) {
    return shared as AsyncLocalStorage<CallInProgress>;
  }
  const storage = new AsyncLocalStorage<CallInProgress>();
  Reflect.set(globalThis, key, storage);
  return storage;
}
