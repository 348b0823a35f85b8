import { setTimeout as wait } from "node:timers/promises";
import pRetry from "p-retry";
import type { Batch, Outcome, Sink } from "./sink.ts";

export interface RetryPolicy {
  /** Tries in one go, the first included. */
  readonly attempts: number;
  readonly firstWaitMs: number;
  readonly maxWaitMs: number;
  /** Longest wait that a server's `Retry-After` can ask for. */
  readonly retryAfterLimitMs: number;
  /** Hears of every try after the first. */
  readonly onRetry: () => void;
}

/** Carries a `retry` outcome through p-retry, which knows only errors. */
class TryAgain extends Error {
  readonly outcome: Extract<Outcome, { kind: "retry" }>;

  constructor(outcome: Extract<Outcome, { kind: "retry" }>) {
    super(outcome.reason);
    this.outcome = outcome;
  }
}

/**
 * The one layer that retries. Waits double from `firstWaitMs` to `maxWaitMs`, with jitter; a server's
 * `Retry-After` is waited for first, within its limit. Ends with the last outcome, never a throw.
 */
export function retryingSink(inner: Sink, policy: RetryPolicy): Sink {
  return {
    async send(batch: Batch, signal: AbortSignal): Promise<Outcome> {
      let last: Outcome = { kind: "retry", reason: "ended before the first try", away: true };
      try {
        return await pRetry(
          async (attempt) => {
            if (attempt > 1) {
              policy.onRetry();
            }
            last = await inner.send(batch, signal);
            if (last.kind === "retry") {
              throw new TryAgain(last);
            }
            return last;
          },
          {
            retries: policy.attempts - 1,
            minTimeout: policy.firstWaitMs,
            maxTimeout: policy.maxWaitMs,
            randomize: true,
            signal,
            shouldRetry: ({ error }) => error instanceof TryAgain,
            onFailedAttempt: ({ error, retriesLeft }) =>
              retriesLeft > 0 ? waitAsAsked(error, policy, signal) : undefined,
          },
        );
      } catch (error) {
        if (error instanceof TryAgain || signal.aborted) {
          return last;
        }
        throw error;
      }
    },
  };
}

async function waitAsAsked(error: Error, policy: RetryPolicy, signal: AbortSignal): Promise<void> {
  const afterMs = error instanceof TryAgain ? (error.outcome.afterMs ?? 0) : 0;
  if (afterMs > 0) {
    await wait(Math.min(afterMs, policy.retryAfterLimitMs), undefined, { signal });
  }
}
