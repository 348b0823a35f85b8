import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { isOk, readErrorBody } from "../../transport/response.ts";
import { toError } from "../../transport/failure.ts";
import type { HttpRequest, Requester } from "../../transport/requester.ts";
import type { Connection } from "../../model/options/connection.ts";
import { extractDetail } from "../../model/error-detail.ts";
import type { AttemptLog } from "../../model/records/attempt-log.ts";
import { endpoints } from "../../model/endpoints.ts";
import type { Endpoint, EndpointName } from "../../model/endpoints.ts";
import { AbortError, ClosedError, OptionError } from "../../model/errors.ts";
import { defaultRetryWaits, withRetries } from "../../transport/retry.ts";
import { classifyFailure, classifyResponse } from "./classify-response.ts";
import type { AttemptContext, AttemptResult } from "./classify-response.ts";
import { ConnectionPools } from "../../transport/connection-pools.ts";
import type { PoolKind } from "../../transport/connection-pools.ts";
import { buildRequest } from "./request.ts";
import type { CallInit } from "./request.ts";

/** Options of every call. */
export interface CallOptions {
  /**
   * Aborts the call, including its retry waits and the pages that it has not fetched yet. The call then throws
   * {@link AbortError}.
   */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Calls an endpoint of the endpoint table. Resolves to the parsed JSON, or to `null` if the response has no
 * content.
 */
export type Call = (name: EndpointName, init?: CallInit) => Promise<unknown>;

/** Calls an endpoint of the endpoint table and streams the body of the response. */
export type Download = (name: EndpointName, init?: CallInit) => AsyncIterable<Uint8Array>;

/** Sends the requests of the API resources, such as projects and runs. {@link Http} implements it. */
export interface ApiTransport {
  readonly call: Call;
  readonly download: Download;
  /** Downloads a file from a URL that a server returned. */
  readonly fetchFile: (address: URL, request: FileRequest) => AsyncIterable<Uint8Array>;
}

/** Options of {@link ApiTransport.fetchFile}. */
export interface FileRequest extends CallOptions {
  /** The attempted action for error messages, such as `read attachment`. */
  readonly action: string;
}

/** Options of {@link Http}. */
export interface HttpOptions {
  readonly connection: Connection;
  /** Maximum number of attempts of one call, including the first. */
  readonly attempts: number;
  /** Longest wait in milliseconds that a server's `Retry-After` can impose. */
  readonly retryAfterLimitMs: number;
  /** Maximum size in bytes of a response that is read into memory. */
  readonly maxResponseBytes: number;
  /** Called at each API call; returns a second signal that can abort the call, in addition to the option `signal`. */
  readonly getAmbientSignal?: () => AbortSignal | undefined;
  /** Called at each API call; returns the log to which the call reports its attempts, if there is one. */
  readonly getAttemptLog?: () => AttemptLog | undefined;
  /** Returns a random number from 0 to below 1. @defaultValue Math.random */
  readonly random?: () => number;
  /** Waits between attempts; rejects when `signal` aborts. @defaultValue a timer */
  readonly wait?: (delayMs: number, signal: AbortSignal) => Promise<unknown>;
}

/**
 * Sends the requests of all API calls. No other code in `src/api` sends requests. No connection is opened before the
 * first call, and no call is possible after {@link Http.close}.
 */
export class Http implements ApiTransport {
  readonly #options: HttpOptions;
  readonly #pools: ConnectionPools;
  readonly #closed = new AbortController();

  constructor(options: HttpOptions) {
    this.#options = options;
    this.#pools = new ConnectionPools(options.connection, options.maxResponseBytes);
    // Each call in flight adds a listener to this signal. Node would warn about more than 10 listeners.
    setMaxListeners(0, this.#closed.signal);
  }

  /**
   * Calls an endpoint. Each attempt may take `timeoutMs`. Transient failures are retried. A call that must not take
   * effect twice is retried only if the server can't have acted on it: no connection was established, or the status is
   * 429, or 503 with `Retry-After`.
   *
   * @throws {@link SdkError} whose class and `code` identify the failure.
   */
  readonly call: Call = async (name, init = {}) => {
    const prepared = this.#prepareCall(name, init);
    const { request, signal } = prepared;
    return this.#send(prepared, "whole", async (requester, context) =>
      classifyResponse(
        await requester.requestBytes(request, signal),
        { ...context, signal },
        Date.now(),
      ),
    );
  };

  /**
   * Like {@link Http.call} until the headers of the response have arrived. The body is then streamed without a
   * size limit; each chunk may take `timeoutMs`. A stream that breaks off is not retried.
   */
  readonly download: Download = (name, init = {}) =>
    this.#streamResponse(() => this.#prepareCall(name, init));

  /** Like {@link Http.download}, for the URL of a file. The API key is sent only to the client's own server. */
  readonly fetchFile = (address: URL, { action, signal }: FileRequest): AsyncIterable<Uint8Array> =>
    this.#streamResponse(() => ({
      endpoint: { method: "GET", path: address.pathname, action },
      init: {
        signal,
        server: address.origin,
        createErrorMessage: ({ status, body }) =>
          `Failed to ${action}: ${status} ${extractDetail(body)}`.trimEnd() +
          ". Its address may have expired: read the run or the example again for a new one",
      },
      requestId: undefined,
      request: { method: "GET", path: address.pathname + address.search },
      signal: this.#combineSignals(signal),
    }));

  /** Aborts the calls in flight and closes the connections. No calls are possible afterwards. May be called twice. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.#pools.close();
  }

  #prepareCall(name: EndpointName, init: CallInit): PreparedCall {
    const endpoint: Endpoint = endpoints[name];
    const requestId = randomUUID();
    const request = buildRequest(endpoint, init, requestId);
    return { endpoint, init, requestId, request, signal: this.#combineSignals(init.signal) };
  }

  async *#streamResponse(prepare: () => PreparedCall): AsyncGenerator<Uint8Array, void> {
    const prepared = prepare();
    const { endpoint, init, requestId, request, signal } = prepared;
    const chunks = await this.#send(prepared, "stream", async (requester, context) => {
      const { head, chunks: body } = await requester.open(request, signal);
      if (isOk(head.status)) {
        return { kind: "succeeded", value: body };
      }
      const errorText = requester.hideSecrets(await readErrorBody(body));
      return classifyResponse({ ...head, body: errorText }, context, Date.now());
    });
    try {
      yield* chunks as AsyncIterable<Uint8Array>;
    } catch (failure) {
      const abortError = this.#createAbortError(endpoint, init.signal, requestId);
      throw abortError ?? toError(endpoint.action, failure, { requestId });
    }
  }

  async #send(
    { endpoint, init, requestId, request, signal }: PreparedCall,
    kind: PoolKind,
    sendRequest: (requester: Requester, context: AttemptContext) => Promise<AttemptResult>,
  ): Promise<unknown> {
    const { sendingProblem } = this.#options.connection;
    if (sendingProblem !== undefined) {
      throw new OptionError(`Failed to ${endpoint.action}: ${sendingProblem}`, { requestId });
    }
    const isRepeatable = init.repeatable ?? isRepeatableEndpoint(endpoint);
    const attemptLog = this.#options.getAttemptLog?.();
    let lastResult: AttemptResult | undefined;
    const canRetry = (): boolean =>
      lastResult?.kind === "failed" && lastResult.shouldRetry && !isConsumed(request);
    const sendOnce = async (): Promise<unknown> => {
      const { createErrorMessage } = init;
      const { maxResponseBytes } = this.#options;
      const callContext = {
        endpoint,
        requestId,
        isRepeatable,
        createErrorMessage,
        maxResponseBytes,
      };
      const context = { ...callContext, previous: lastResult };
      signal.throwIfAborted();
      attemptLog?.start();
      const requester = await this.#pools.getRequester(init.server, kind);
      try {
        lastResult = await sendRequest(requester, context);
      } catch (failure) {
        lastResult = classifyFailure(failure, context);
      }
      if (lastResult.kind === "failed") {
        attemptLog?.fail(lastResult.error, lastResult);
      }
      signal.throwIfAborted();
      if (lastResult.kind === "failed") {
        throw lastResult.error;
      }
      return lastResult.value;
    };
    try {
      const { attempts, retryAfterLimitMs, random, wait } = this.#options;
      return await withRetries(
        sendOnce,
        {
          ...defaultRetryWaits,
          attempts: init.attempts ?? attempts,
          retryAfterLimitMs,
          random,
          wait,
        },
        {
          signal,
          canRetry,
          requestedWaitMs: () =>
            lastResult?.kind === "failed" ? lastResult.retryAfterMs : undefined,
        },
      );
    } catch (error) {
      throw this.#createAbortError(endpoint, init.signal, requestId) ?? error;
    }
  }

  #combineSignals(signal: AbortSignal | undefined): AbortSignal {
    const signals = [signal, this.#options.getAmbientSignal?.()].filter(
      (item) => item !== undefined,
    );
    return signals.length === 0
      ? this.#closed.signal
      : AbortSignal.any([...signals, this.#closed.signal]);
  }

  #createAbortError(
    { action }: Endpoint,
    signal: AbortSignal | undefined,
    requestId: string | undefined,
  ): AbortError | ClosedError | undefined {
    if (signal?.aborted === true) {
      const options = { cause: signal.reason as unknown, requestId };
      return new AbortError(
        `Failed to ${action}: the call's signal was aborted; the error's cause is the reason. Call again if you still need the result`,
        options,
      );
    }
    return this.#closed.signal.aborted
      ? new ClosedError(
          `Failed to ${action}: the client is closed. Make the call before client.close(), or create another Client`,
          { requestId },
        )
      : undefined;
  }
}

/** A call with its HTTP request, ready to be sent. */
interface PreparedCall {
  readonly endpoint: Endpoint;
  readonly init: CallInit;
  readonly requestId: string | undefined;
  readonly request: HttpRequest;
  /** Aborts when the caller's signal or the ambient signal does, or when the client is closed. */
  readonly signal: AbortSignal;
}

const isRepeatableEndpoint = ({ method, repeatable }: Endpoint): boolean =>
  method !== "POST" || repeatable === true;

/** Whether the body of the request can't be sent again. */
const isConsumed = ({ body }: HttpRequest): boolean =>
  body !== undefined && !(body instanceof Uint8Array) && body.isConsumed;
