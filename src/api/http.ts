import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { setTimeout as timer } from "node:timers/promises";
import pRetry from "p-retry";
import { toError } from "../connection/failure.ts";
import type { Requester } from "../connection/requester.ts";
import type { Connection } from "../model/connection.ts";
import { endpoints } from "../model/endpoints.ts";
import type { Endpoint, EndpointName } from "../model/endpoints.ts";
import { AbortError, ClosedError } from "../model/errors.ts";
import { retryPace, retryWaitMs } from "../model/retry-wait.ts";
import { judgeFailure, readAnswer } from "./judge.ts";
import type { Verdict } from "./judge.ts";
import { requestOf } from "./request.ts";
import type { CallInit } from "./request.ts";

/** What every call takes. */
export interface CallOptions {
  /** Ends the call, its waits and the pages after it: {@link AbortError}. */
  readonly signal?: AbortSignal | undefined;
}

/** One call of the endpoint table, and what the server answered: JSON, or `null` where it said nothing. */
export type Call = (name: EndpointName, init?: CallInit) => Promise<unknown>;

export interface HttpOptions {
  readonly connection: Connection;
  /** Tries of one call, the first included. */
  readonly attempts: number;
  /** Longest wait that a server's `Retry-After` can ask for. */
  readonly retryAfterLimitMs: number;
  /** From 0 to below 1. @defaultValue Math.random */
  readonly random?: () => number;
  /** Rejects when `signal` aborts. @defaultValue a timer */
  readonly wait?: (delayMs: number, signal: AbortSignal) => Promise<unknown>;
}

/** Longest answer that is read: a page of runs with all they hold. */
const answerLimitBytes = 268_435_456;

interface Line {
  readonly requester: Requester;
  close(): Promise<void>;
}

/**
 * Sends the calls of the request half: the only code that does. States: idle, open from the first
 * call on, closed.
 */
export class Http {
  readonly #options: HttpOptions;
  readonly #closed = new AbortController();
  #line: Promise<Line> | undefined;

  constructor(options: HttpOptions) {
    this.#options = options;
    // Every call under way listens to the one signal.
    setMaxListeners(0, this.#closed.signal);
  }

  /**
   * Each try has `timeoutMs`. What may pass is tried again: a call that could then take effect twice
   * only where the server can't have acted on it (no connection, 429, 503 with `Retry-After`).
   *
   * @throws {@link SdkError} its kind says what came back.
   */
  readonly call: Call = async (name, init = {}) => {
    const endpoint: Endpoint = endpoints[name];
    const requestId = randomUUID();
    const request = requestOf(endpoint, init, requestId);
    const signal = this.#signalWith(init.signal);
    const isRepeatable = init.repeatable ?? isRepeatableEndpoint(endpoint);
    let last: Verdict | undefined;
    const attempt = async (): Promise<unknown> => {
      const about = { endpoint, requestId, isRepeatable, earlier: last };
      signal.throwIfAborted();
      const { requester } = await this.#open();
      try {
        last = readAnswer(await requester.ask(request, signal), about, Date.now());
      } catch (failure) {
        last = judgeFailure(failure, about);
      }
      signal.throwIfAborted();
      if (last.kind === "failed") {
        throw last.error;
      }
      return last.value;
    };
    try {
      return await pRetry(attempt, {
        retries: this.#options.attempts - 1,
        // The waits are ours: p-retry's lose their jitter at the longest wait.
        minTimeout: 0,
        signal,
        shouldRetry: () => !signal.aborted && last?.kind === "failed" && last.again,
        onFailedAttempt: async ({ attemptNumber, retriesLeft }) => {
          if (retriesLeft > 0 && !signal.aborted && last?.kind === "failed" && last.again) {
            await this.#wait(attemptNumber, last.afterMs, signal);
          }
        },
      });
    } catch (error) {
      throw this.#endedBy(endpoint, init.signal, requestId) ?? error;
    }
  };

  /** Ends the calls under way, and gives back the connections. Final; may be called twice. */
  async close(): Promise<void> {
    this.#closed.abort();
    const line = await this.#line?.catch(() => undefined); // It never opened: nothing to give back.
    await line?.close();
  }

  #signalWith(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined
      ? this.#closed.signal
      : AbortSignal.any([signal, this.#closed.signal]);
  }

  /** Loads what connects only when something is asked: most programs only record. */
  #open(): Promise<Line> {
    this.#line ??= openLine(this.#options.connection);
    return this.#line;
  }

  async #wait(attempt: number, afterMs: number | undefined, signal: AbortSignal): Promise<void> {
    const { retryAfterLimitMs, random = Math.random, wait = heldWait } = this.#options;
    const waits = { ...retryPace, retryAfterLimitMs };
    await wait(retryWaitMs({ attempt, afterMs, random: random() }, waits), signal);
  }

  #endedBy(
    { action }: Endpoint,
    signal: AbortSignal | undefined,
    requestId: string,
  ): AbortError | ClosedError | undefined {
    if (signal?.aborted === true) {
      const options = { cause: signal.reason as unknown, requestId };
      return new AbortError(`Failed to ${action}: the caller ended it`, options);
    }
    return this.#closed.signal.aborted
      ? new ClosedError(`Failed to ${action}: the client is closed`, { requestId })
      : undefined;
  }
}

async function openLine(connection: Connection): Promise<Line> {
  try {
    const [{ createDispatcher }, { Requester }] = await Promise.all([
      import("../connection/dispatcher.ts"),
      import("../connection/requester.ts"),
    ]);
    const dispatcher = createDispatcher(connection, answerLimitBytes);
    return {
      requester: new Requester(connection, dispatcher),
      close: () => dispatcher.destroy(),
    };
  } catch (failure) {
    throw toError("connect", failure);
  }
}

const isRepeatableEndpoint = ({ method, repeatable }: Endpoint): boolean =>
  method !== "POST" || repeatable === true;

/** Holds the process: whoever called waits for the answer. */
const heldWait = (delayMs: number, signal: AbortSignal): Promise<void> =>
  timer(delayMs, undefined, { signal });
