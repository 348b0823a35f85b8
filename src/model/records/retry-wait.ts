/** How long to wait between attempts. Both the sending of runs and the API calls use it. */
export interface RetryWaits {
  /** Base of the exponential backoff. */
  readonly firstWaitMs: number;
  /** Longest backoff. */
  readonly maxWaitMs: number;
  /** Longest wait that a server's `Retry-After` can request. */
  readonly retryAfterLimitMs: number;
}

/** Default base and maximum of the backoff, in milliseconds. */
export const retryPace = { firstWaitMs: 250, maxWaitMs: 10_000 } as const;

/** What the wait after a failed attempt depends on. */
export interface FailedTry {
  /** Number of the failed attempt, counted from 1. */
  readonly attempt: number;
  /** The wait that the server requested with `Retry-After`. */
  readonly afterMs?: number | undefined;
  /** Random number from 0 to below 1, for the jitter. */
  readonly random: number;
}

/**
 * Milliseconds until the next attempt: an exponential backoff between `firstWaitMs` and
 * `maxWaitMs`, or the wait that the server requested, if that is longer. The jitter prevents many
 * clients from retrying at the same moment.
 */
export function retryWaitMs({ attempt, afterMs, random }: FailedTry, waits: RetryWaits): number {
  const { firstWaitMs, maxWaitMs, retryAfterLimitMs } = waits;
  const longest = Math.min(maxWaitMs, firstWaitMs * 2 ** attempt);
  const backoff = (longest / 2) * (1 + random);
  const requestedMs = afterMs === undefined ? 0 : Math.min(afterMs, retryAfterLimitMs);
  return requestedMs === 0 ? backoff : Math.max(backoff, requestedMs + firstWaitMs * random);
}

/**
 * Converts the value of `Retry-After`, seconds or a date (RFC 9110, section 10.2.3), to
 * milliseconds; never negative.
 */
export function retryAfterMs(value: string | undefined, now: number): number | undefined {
  const text = value?.trim() ?? "";
  if (/^\d+$/.test(text)) {
    return Number(text) * 1_000;
  }
  // Accept only dates in the HTTP format: Date.parse accepts many other texts.
  const date = /^[a-z]{3,9}, .* GMT$/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
