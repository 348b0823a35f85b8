import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { setTimeout as timer } from "node:timers/promises";
import pRetry from "p-retry";
import { isOk, readRefusal } from "../../transport/response.ts";
import { toError } from "../../transport/failure.ts";
import type { HttpRequest, Requester } from "../../transport/requester.ts";
import type { Connection } from "../../model/options/connection.ts";
import { detailOf } from "../../model/error-detail.ts";
import { endpoints } from "../../model/endpoints.ts";
import type { Endpoint, EndpointName } from "../../model/endpoints.ts";
import { AbortError, ClosedError, OptionError } from "../../model/errors.ts";
import { retryPace, retryWaitMs } from "../../model/records/retry-wait.ts";
import { classifyFailure, classifyResponse } from "./classify-response.ts";
import type { TryFacts, TryResult } from "./classify-response.ts";
import { ConnectionPools } from "../../transport/connection-pools.ts";
import type { PoolKind } from "../../transport/connection-pools.ts";
import { requestOf } from "./request.ts";
import type { CallInit } from "./request.ts";

/** What every call takes. */
export interface CallOptions {
  /** Ends the call, its waits and the pages after it: {@link AbortError}. */
  readonly signal?: AbortSignal | undefined;
}

/** One call of the endpoint table, and what the server answered: JSON, or `null` where it said nothing. */
export type Call = (name: EndpointName, init?: CallInit) => Promise<unknown>;

/** One call of the endpoint table, its answer read as it arrives. */
export type Download = (name: EndpointName, init?: CallInit) => AsyncIterable<Uint8Array>;

/** What a resource asks through. */
export interface ApiTransport {
  readonly call: Call;
  readonly download: Download;
  /** What is at an address that a server gave. */
  readonly fetchFile: (address: URL, about: FileRequest) => AsyncIterable<Uint8Array>;
}

export interface FileRequest extends CallOptions {
  /** What an error says was attempted. */
  readonly action: string;
}

export interface HttpOptions {
  readonly connection: Connection;
  /** Tries of one call, the first included. */
  readonly attempts: number;
  /** Longest wait that a server's `Retry-After` can ask for. */
  readonly retryAfterLimitMs: number;
  /** Longest answer that is read as a whole, bytes. */
  readonly maxResponseBytes: number;
  /** Asked at each call: what ends it, beside the `signal` that it was given. */
  readonly ambientSignal?: () => AbortSignal | undefined;
  /** From 0 to below 1. @defaultValue Math.random */
  readonly random?: () => number;
  /** Rejects when `signal` aborts. @defaultValue a timer */
  readonly wait?: (delayMs: number, signal: AbortSignal) => Promise<unknown>;
}

/**
 * Sends the calls of the request half: the only code that does. States: idle, open from the first
 * call on, closed.
 */
export class Http implements ApiTransport {
  readonly #options: HttpOptions;
  readonly #pools: ConnectionPools;
  readonly #closed = new AbortController();

  constructor(options: HttpOptions) {
    this.#options = options;
    this.#pools = new ConnectionPools(options.connection, options.maxResponseBytes);
    // Every call under way listens to the one signal.
    setMaxListeners(0, this.#closed.signal);
  }

  /**
   * Each try has `timeoutMs`. Failures that may pass are retried; a call that could take effect twice
   * is retried only where the server can't have acted on it (no connection, 429, 503 with `Retry-After`).
   *
   * @throws {@link SdkError} its class and code name the failure.
   */
  readonly call: Call = async (name, init = {}) => {
    const sending = this.#sendingOf(name, init);
    const { request, signal } = sending;
    return this.#send(sending, "whole", async (requester, facts) =>
      classifyResponse(
        await requester.requestBytes(request, signal),
        { ...facts, signal },
        Date.now(),
      ),
    );
  };

  /**
   * As {@link Http.call}, up to the beginning of the answer. The rest is read as it is consumed, without
   * a limit, each part of it within `timeoutMs`; where it breaks off, nothing is tried again.
   */
  readonly download: Download = (name, init = {}) => this.#read(() => this.#sendingOf(name, init));

  /** As {@link Http.download}, of a file; the key goes with it to the client's own server only. */
  readonly fetchFile = (address: URL, { action, signal }: FileRequest): AsyncIterable<Uint8Array> =>
    this.#read(() => ({
      endpoint: { method: "GET", path: address.pathname, action },
      init: {
        signal,
        server: address.origin,
        messageOf: ({ status, body }) =>
          `Failed to ${action}: ${status} ${detailOf(body)}`.trimEnd() +
          ". Its address may have expired: read the run or the example again for a new one",
      },
      requestId: undefined,
      request: { method: "GET", path: address.pathname + address.search },
      signal: this.#signalWith(signal),
    }));

  /** Ends the calls under way, and gives back the connections. Final; may be called twice. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.#pools.close();
  }

  #sendingOf(name: EndpointName, init: CallInit): Sending {
    const endpoint: Endpoint = endpoints[name];
    const requestId = randomUUID();
    const request = requestOf(endpoint, init, requestId);
    return { endpoint, init, requestId, request, signal: this.#signalWith(init.signal) };
  }

  async *#read(begin: () => Sending): AsyncGenerator<Uint8Array, void> {
    const sending = begin();
    const { endpoint, init, requestId, request, signal } = sending;
    const chunks = await this.#send(sending, "stream", async (requester, facts) => {
      const { head, chunks: rest } = await requester.open(request, signal);
      if (isOk(head.status)) {
        return { kind: "answered", value: rest };
      }
      const body = requester.conceal(await readRefusal(rest));
      return classifyResponse({ ...head, body }, facts, Date.now());
    });
    try {
      yield* chunks as AsyncIterable<Uint8Array>;
    } catch (failure) {
      const ended = this.#endedBy(endpoint, init.signal, requestId);
      throw ended ?? toError(endpoint.action, failure, { requestId });
    }
  }

  async #send(
    { endpoint, init, requestId, request, signal }: Sending,
    kind: PoolKind,
    exchange: (requester: Requester, facts: TryFacts) => Promise<TryResult>,
  ): Promise<unknown> {
    const { refusal } = this.#options.connection;
    if (refusal !== undefined) {
      throw new OptionError(`Failed to ${endpoint.action}: ${refusal}`, { requestId });
    }
    const isRepeatable = init.repeatable ?? isRepeatableEndpoint(endpoint);
    let last: TryResult | undefined;
    const isToRetry = (): boolean =>
      !signal.aborted && last?.kind === "failed" && last.again && !isSpent(request);
    const attempt = async (): Promise<unknown> => {
      const { messageOf } = init;
      const { maxResponseBytes } = this.#options;
      const given = { endpoint, requestId, isRepeatable, messageOf, maxResponseBytes };
      const facts = { ...given, earlier: last };
      signal.throwIfAborted();
      const requester = await this.#pools.requesterFor(init.server, kind);
      try {
        last = await exchange(requester, facts);
      } catch (failure) {
        last = classifyFailure(failure, facts);
      }
      signal.throwIfAborted();
      if (last.kind === "failed") {
        throw last.error;
      }
      return last.value;
    };
    try {
      return await pRetry(attempt, {
        retries: (init.attempts ?? this.#options.attempts) - 1,
        // The waits are ours: p-retry's lose their jitter at the longest wait.
        minTimeout: 0,
        signal,
        shouldRetry: isToRetry,
        onFailedAttempt: async ({ attemptNumber, retriesLeft }) => {
          if (retriesLeft > 0 && isToRetry()) {
            const afterMs = last?.kind === "failed" ? last.afterMs : undefined;
            await this.#wait(attemptNumber, afterMs, signal);
          }
        },
      });
    } catch (error) {
      throw this.#endedBy(endpoint, init.signal, requestId) ?? error;
    }
  }

  #signalWith(signal: AbortSignal | undefined): AbortSignal {
    const given = [signal, this.#options.ambientSignal?.()].filter((one) => one !== undefined);
    return given.length === 0
      ? this.#closed.signal
      : AbortSignal.any([...given, this.#closed.signal]);
  }

  async #wait(attempt: number, afterMs: number | undefined, signal: AbortSignal): Promise<void> {
    const { retryAfterLimitMs, random = Math.random, wait = heldWait } = this.#options;
    const waits = { ...retryPace, retryAfterLimitMs };
    await wait(retryWaitMs({ attempt, afterMs, random: random() }, waits), signal);
  }

  #endedBy(
    { action }: Endpoint,
    signal: AbortSignal | undefined,
    requestId: string | undefined,
  ): AbortError | ClosedError | undefined {
    if (signal?.aborted === true) {
      const options = { cause: signal.reason as unknown, requestId };
      return new AbortError(
        `Failed to ${action}: the signal of the call was aborted, for the reason that is the cause. Call again where the result is still wanted`,
        options,
      );
    }
    return this.#closed.signal.aborted
      ? new ClosedError(
          `Failed to ${action}: the client is closed. Make the call before client.close(), or make another Client`,
          { requestId },
        )
      : undefined;
  }
}

interface Sending {
  readonly endpoint: Endpoint;
  readonly init: CallInit;
  readonly requestId: string | undefined;
  readonly request: HttpRequest;
  /** The caller's, and the client's end. */
  readonly signal: AbortSignal;
}

const isRepeatableEndpoint = ({ method, repeatable }: Endpoint): boolean =>
  method !== "POST" || repeatable === true;

/** Holds the process: whoever called waits for the answer. */
const heldWait = (delayMs: number, signal: AbortSignal): Promise<void> =>
  timer(delayMs, undefined, { signal });

/** Whether its body can't be sent once more. */
const isSpent = ({ body }: HttpRequest): boolean =>
  body !== undefined && !(body instanceof Uint8Array) && body.isSpent;
