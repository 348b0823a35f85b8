import { currentRun } from "../../main/index.ts";
import type { ExchangeRun } from "../../main/index.ts";

/** A request that is about to be sent. */
export interface SentRequest {
  readonly url: string;
  readonly body: unknown;
  /** The number of earlier attempts, as the client libraries of OpenAI and Anthropic send it. */
  readonly retryCount: number | undefined;
  /** The object with the request's options. Some libraries pass the same one for each attempt. */
  readonly init: object | undefined;
}

/** A call whose last attempt failed in such a way that a library may try again. */
interface FailedCall {
  readonly exchange: ExchangeRun;
  readonly url: string;
  readonly bodyKey: unknown;
  readonly parentId: string | undefined;
  readonly init: object | undefined;
  /** Value that `retryCount` has in the next attempt; `undefined` if the library does not send it. */
  readonly nextRetryCount: number | undefined;
  readonly failedAt: number;
}

/** Maximum number of failed calls that are remembered. */
const maxFailedCalls = 256;
/** How long a failed call is remembered, in milliseconds. Libraries wait at most one minute before they try again. */
const rememberedMs = 120_000;

/** Recognizes requests that are further attempts of an earlier call. */
export class Attempts {
  readonly #failedCalls: FailedCall[] = [];

  /**
   * Returns the run of the failed call that this request repeats, and forgets that call; `undefined` if there is none.
   */
  takeFailedCall(request: SentRequest): ExchangeRun | undefined {
    if (this.#failedCalls.length === 0) {
      return undefined;
    }
    const oldest = performance.now() - rememberedMs;
    const bodyKey = toBodyKey(request.body);
    const parentId = currentRun()?.id;
    const index = this.#failedCalls.findIndex(
      (call) =>
        call.failedAt > oldest &&
        call.url === request.url &&
        call.bodyKey === bodyKey &&
        call.parentId === parentId &&
        call.nextRetryCount === request.retryCount &&
        (request.retryCount !== undefined || call.init === request.init),
    );
    return index === -1 ? undefined : this.#failedCalls.splice(index, 1)[0]?.exchange;
  }

  /**
   * Call this when a request is sent. It returns a function that remembers the call as failed. Call the returned
   * function, in any asynchronous context, if the request fails in such a way that a library may send it again.
   */
  prepare(request: SentRequest, exchange: ExchangeRun): () => void {
    const { url, body, init, retryCount } = request;
    const parentId = currentRun()?.id;
    return () => {
      if (init === undefined && retryCount === undefined) {
        return;
      }
      if (this.#failedCalls.length >= maxFailedCalls) {
        this.#failedCalls.shift();
      }
      this.#failedCalls.push({
        exchange,
        url,
        bodyKey: toBodyKey(body),
        parentId,
        init: retryCount === undefined ? init : undefined,
        nextRetryCount: retryCount === undefined ? undefined : retryCount + 1,
        failedAt: performance.now(),
      });
    };
  }
}

/** Approximate number of characters of a long body that are included in its hash; always fewer than twice as many. */
const hashedChars = 4_096;

/**
 * Returns a key that identifies a body: a string is represented by its length and a hash, so that a long string is not
 * kept in memory, and any other body by the object itself.
 */
function toBodyKey(body: unknown): unknown {
  if (typeof body !== "string") {
    return body;
  }
  const step = Math.max(1, Math.floor(body.length / hashedChars));
  let hash = 0;
  for (let index = 0; index < body.length; index += step) {
    hash = Math.imul(hash, 31) + body.charCodeAt(index);
  }
  return `${body.length} ${hash}`;
}
