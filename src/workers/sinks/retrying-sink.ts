import { setTimeout as timer } from "node:timers/promises";
import pRetry from "p-retry";
import { retryWaitMs } from "../../model/records/retry-wait.ts";
import type { RetryWaits } from "../../model/records/retry-wait.ts";
import { flattenResult } from "./sink.ts";
import type { Batch, BatchResult, Outcome, RetryOutcome, Sink } from "./sink.ts";

export interface RetryPolicy extends RetryWaits {
  /** Maximum number of attempts, including the first. */
  readonly attempts: number;
  /** Called before every attempt after the first. */
  readonly onRetry: () => void;
  /** Called as soon as an attempt failed, whether or not another follows. */
  readonly onFailedTry: (outcome: RetryOutcome) => void;
  /**
   * Returns a number from 0 to below 1.
   * @defaultValue Math.random
   */
  readonly random?: () => number;
  /**
   * Waits. Must reject when `signal` aborts.
   * @defaultValue a timer that does not keep the process alive
   */
  readonly wait?: (delayMs: number, signal: AbortSignal) => Promise<void>;
}

/** Carries the outcome `retry` to p-retry, which retries only after errors. */
class TryAgain extends Error {}

/**
 * The only layer that retries. Waits double from `firstWaitMs` to `maxWaitMs`, with jitter. A
 * longer `Retry-After` of the server is respected, up to its limit. If a batch has several
 * outcomes, only its failed runs are sent again. Returns the last outcome and never throws.
 */
export function retryingSink(inner: Sink, policy: RetryPolicy): Sink {
  return {
    async send(batch: Batch, signal: AbortSignal): Promise<Outcome> {
      const settled: BatchResult[] = [];
      let remaining = batch;
      let last: RetryOutcome | undefined = untriedOutcome;
      const attempt = async (count: number): Promise<void> => {
        if (count > 1) {
          policy.onRetry();
        }
        const results = flattenResult({
          batch: remaining,
          outcome: await inner.send(remaining, signal),
        });
        const failed = results.filter(isFailed);
        settled.push(...results.filter((part) => !isFailed(part)));
        last = failed.length === 0 ? undefined : combineFailures(failed);
        if (last !== undefined) {
          if (!signal.aborted) {
            policy.onFailedTry(last);
          }
          // If the whole batch failed, keep the same object: it may be framed already.
          remaining =
            results.length === 1
              ? remaining
              : batch.withRuns(failed.flatMap((part) => part.batch.runs));
          throw new TryAgain(last.reason);
        }
      };
      try {
        await pRetry(attempt, {
          retries: policy.attempts - 1,
          // We compute the waits: those of p-retry have no jitter at the longest wait.
          minTimeout: 0,
          signal,
          shouldRetry: ({ error }) => error instanceof TryAgain,
          onFailedAttempt: ({ retriesLeft, attemptNumber }) =>
            retriesLeft > 0 && last !== undefined && !signal.aborted
              ? waitBeforeRetry(computeWaitMs(last, attemptNumber, policy), signal, policy)
              : undefined,
        });
      } catch (error) {
        if (!(error instanceof TryAgain) && !signal.aborted) {
          throw error;
        }
      }
      return combineResults(
        settled,
        last === undefined ? [] : [{ batch: remaining, outcome: last }],
      );
    },
  };
}

const untriedOutcome: RetryOutcome = {
  kind: "retry",
  reason: "ended before the first try",
  isServerUnavailable: true,
};

interface FailedBatch extends BatchResult {
  readonly outcome: RetryOutcome;
}

const isFailed = (result: BatchResult): result is FailedBatch => result.outcome.kind === "retry";

/**
 * Combines several failures to one outcome: with the longest wait, and `isServerUnavailable` only
 * if all failures have it.
 */
function combineFailures(failed: readonly FailedBatch[]): RetryOutcome {
  const waits = failed.flatMap(({ outcome }) => outcome.afterMs ?? []);
  const { code, status, reason = "" } = failed[0]?.outcome ?? {};
  return {
    kind: "retry",
    reason,
    ...(code === undefined ? {} : { code }),
    ...(status === undefined ? {} : { status }),
    isServerUnavailable: failed.every(({ outcome }) => outcome.isServerUnavailable),
    ...(waits.length === 0 ? {} : { afterMs: Math.max(...waits) }),
  };
}

function combineResults(settled: readonly BatchResult[], failed: readonly BatchResult[]): Outcome {
  const parts = [...settled, ...failed];
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only.outcome : { kind: "mixed", parts };
}

const computeWaitMs = ({ afterMs }: RetryOutcome, attempt: number, policy: RetryPolicy): number => {
  const { random = Math.random } = policy;
  return retryWaitMs({ attempt, afterMs, random: random() }, policy);
};

async function waitBeforeRetry(
  delayMs: number,
  signal: AbortSignal,
  policy: RetryPolicy,
): Promise<void> {
  const { wait = waitUnrefed } = policy;
  await wait(delayMs, signal);
}

/**
 * The timer is unref'd, because the main thread decides how long the process waits for its runs.
 */
const waitUnrefed = (delayMs: number, signal: AbortSignal): Promise<void> =>
  timer(delayMs, undefined, { signal, ref: false });
