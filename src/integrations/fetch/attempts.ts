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

/** A call whose last attempt failed in a way after which libraries try again. */
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

/** How many failed calls are remembered. */
const maxFailedCalls = 256;
/** For how many milliseconds a failed call is remembered. Libraries wait at most one minute before they try again. */
const rememberedMs = 120_000;

/** Finds out which requests are further attempts of an earlier call. */
export class Attempts {
  readonly #failedCalls: FailedCall[] = [];

  /** Returns the run of the call that this request tries again, and forgets the failed attempt. */
  takeEarlier(request: SentRequest): ExchangeRun | undefined {
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
   * Returns a function that remembers the call: it must be called, in any context, when the request failed in a way after
   * which a library may send it again. Call this when the request is sent.
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

/** How many characters of a body are compared. */
const comparedChars = 4_096;

/** What identifies a body, without holding a long text in memory. Other bodies are identified by the object. */
function toBodyKey(body: unknown): unknown {
  if (typeof body !== "string") {
    return body;
  }
  const step = Math.max(1, Math.floor(body.length / comparedChars));
  let hash = 0;
  for (let index = 0; index < body.length; index += step) {
    hash = Math.imul(hash, 31) + body.charCodeAt(index);
  }
  return `${body.length} ${hash}`;
}
