import { setTimeout as timer } from "node:timers/promises";
import pRetry from "p-retry";

/** How long to wait between attempts. */
export interface RetryWaits {
  /** Base of the exponential backoff, in milliseconds. */
  readonly firstWaitMs: number;
  /** Longest wait of the exponential backoff, in milliseconds. */
  readonly maxWaitMs: number;
  /** Longest wait that a server's `Retry-After` can request. */
  readonly retryAfterLimitMs: number;
}

/** Default base and maximum of the backoff, in milliseconds. */
export const defaultRetryWaits = { firstWaitMs: 250, maxWaitMs: 10_000 } as const;

/** How often to try, and how long to wait in between. */
export interface RetryPolicy extends RetryWaits {
  /** Maximum number of attempts, including the first. May be infinite. */
  readonly attempts: number;
  /**
   * Returns a number from 0 to below 1.
   * @defaultValue Math.random
   */
  readonly random?: (() => number) | undefined;
  /**
   * Waits for `delayMs`. Must reject when `signal` aborts.
   * @defaultValue a timer that keeps the process alive
   */
  readonly wait?: ((delayMs: number, signal: AbortSignal) => Promise<unknown>) | undefined;
}

/** When to repeat an operation. */
export interface RetryConditions {
  /** Ends the waits when it is aborted. No attempt begins afterwards. */
  readonly signal: AbortSignal;
  /** Whether an attempt that failed with `error` may be repeated. */
  readonly canRetry: (error: Error) => boolean;
  /** The wait that the server requested in its last response, in milliseconds. */
  readonly requestedWaitMs?: () => number | undefined;
}

/**
 * Calls `attempt` until it resolves, fails with an error that must not be retried, or has been called as often as the
 * policy allows. Uploads, API calls and the sending of runs retry only with this function, so that their retries never
 * multiply.
 *
 * @param attempt - called with the number of the attempt, from 1
 * @throws what the last attempt threw, or the reason of the signal.
 */
export function withRetries<Result>(
  attempt: (attemptNumber: number) => Promise<Result>,
  policy: RetryPolicy,
  { signal, canRetry, requestedWaitMs }: RetryConditions,
): Promise<Result> {
  const { attempts, random = Math.random, wait = waitReferenced } = policy;
  return pRetry(attempt, {
    retries: attempts - 1,
    // `onFailedAttempt` waits instead of p-retry, because the longest wait of p-retry has no jitter, and p-retry does
    // not support Retry-After.
    minTimeout: 0,
    signal,
    shouldRetry: ({ error }) => !signal.aborted && canRetry(error),
    onFailedAttempt: async ({ error, attemptNumber, retriesLeft }) => {
      if (retriesLeft > 0 && !signal.aborted && canRetry(error)) {
        const failed = {
          attempt: attemptNumber,
          retryAfterMs: requestedWaitMs?.(),
          random: random(),
        };
        await wait(computeWaitMs(failed, policy), signal);
      }
    },
  });
}

/** Waits and keeps the process alive, for a caller that needs the result. */
const waitReferenced = (delayMs: number, signal: AbortSignal): Promise<unknown> =>
  timer(delayMs, undefined, { signal });

/** Waits without keeping the process alive, for work in the background. */
export const waitUnreferenced = (delayMs: number, signal: AbortSignal): Promise<unknown> =>
  timer(delayMs, undefined, { signal, ref: false });

/** What the wait after a failed attempt depends on. */
export interface FailedAttempt {
  /** Number of the failed attempt, counted from 1. */
  readonly attempt: number;
  /** The wait that the server requested with `Retry-After`. */
  readonly retryAfterMs?: number | undefined;
  /** Random number from 0 to below 1, for the jitter. */
  readonly random: number;
}

/**
 * Milliseconds until the next attempt: an exponential backoff between `firstWaitMs` and
 * `maxWaitMs`, or the wait that the server requested, if that is longer. The jitter prevents many
 * clients from retrying at the same moment.
 */
export function computeWaitMs(
  { attempt, retryAfterMs, random }: FailedAttempt,
  waits: RetryWaits,
): number {
  const { firstWaitMs, maxWaitMs, retryAfterLimitMs } = waits;
  const longest = Math.min(maxWaitMs, firstWaitMs * 2 ** attempt);
  const backoff = (longest / 2) * (1 + random);
  const requestedMs = retryAfterMs === undefined ? 0 : Math.min(retryAfterMs, retryAfterLimitMs);
  return requestedMs === 0 ? backoff : Math.max(backoff, requestedMs + firstWaitMs * random);
}

/**
 * Converts the value of `Retry-After`, seconds or a date (RFC 9110, section 10.2.3), to milliseconds; never negative.
 * Returns `undefined` if the value is missing or invalid.
 */
export function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  const text = value?.trim() ?? "";
  if (/^\d+$/.test(text)) {
    return Number(text) * 1_000;
  }
  // Accept only dates in the HTTP format: Date.parse accepts many other texts.
  const date = /^[a-z]{3,9}, .* GMT$/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
