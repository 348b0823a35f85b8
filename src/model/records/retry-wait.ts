/** How long to wait between tries; one rule for both halves of the client. */
export interface RetryWaits {
  readonly firstWaitMs: number;
  readonly maxWaitMs: number;
  /** Longest wait that a server's `Retry-After` can ask for. */
  readonly retryAfterLimitMs: number;
}

/** Before the second try, and at most before any. */
export const retryPace = { firstWaitMs: 250, maxWaitMs: 10_000 } as const;

export interface FailedTry {
  /** Counted from 1. */
  readonly attempt: number;
  /** The wait that the server requested with `Retry-After`. */
  readonly afterMs?: number | undefined;
  /** From 0 to below 1. */
  readonly random: number;
}

/**
 * Milliseconds until the next try: doubles from `firstWaitMs` to `maxWaitMs`, or the wait that the
 * server requested, where that is longer. The jitter prevents many clients from returning at the same moment.
 */
export function retryWaitMs({ attempt, afterMs, random }: FailedTry, waits: RetryWaits): number {
  const { firstWaitMs, maxWaitMs, retryAfterLimitMs } = waits;
  const longest = Math.min(maxWaitMs, firstWaitMs * 2 ** attempt);
  const backoff = (longest / 2) * (1 + random);
  const asked = afterMs === undefined ? 0 : Math.min(afterMs, retryAfterLimitMs);
  return asked === 0 ? backoff : Math.max(backoff, asked + firstWaitMs * random);
}

/** Milliseconds of a `Retry-After`: seconds, or a date (RFC 9110, section 10.2.3); never negative. */
export function retryAfterMs(value: string | undefined, now: number): number | undefined {
  const text = value?.trim() ?? "";
  if (/^\d+$/.test(text)) {
    return Number(text) * 1_000;
  }
  // Only a date in the form of HTTP: Date.parse finds dates in all kinds of text.
  const date = /^[a-z]{3,9}, .* GMT$/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
