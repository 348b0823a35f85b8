import { waitUnreferenced, withRetries } from "../../transport/retry.ts";
import type { RetryPolicy } from "../../transport/retry.ts";
import { flattenResult } from "./sink.ts";
import type { Batch, BatchResult, Outcome, RetryOutcome, Sink } from "./sink.ts";

/** A retry policy, and the callbacks for failed and repeated attempts. */
export interface SinkRetryPolicy extends RetryPolicy {
  /** Called before every attempt after the first. */
  readonly onRetry: () => void;
  /** Called as soon as an attempt failed, whether or not another follows. */
  readonly onFailedAttempt: (outcome: RetryOutcome) => void;
}

/** Reports the outcome `retry` to `withRetries`, which repeats an attempt only if the attempt throws. */
class RetryRequested extends Error {}

/**
 * Wraps a sink so that batches that fail are sent again as the policy allows. If the runs of a batch have different
 * outcomes, only the failed ones are sent again. `send` of the returned sink resolves to the last outcome. It rejects
 * only if `inner` does.
 */
export function createRetryingSink(inner: Sink, policy: SinkRetryPolicy): Sink {
  return {
    async send(batch: Batch, signal: AbortSignal): Promise<Outcome> {
      const settledResults: BatchResult[] = [];
      let remaining = batch;
      let lastFailure: RetryOutcome | undefined = untriedOutcome;
      const sendRemaining = async (attemptNumber: number): Promise<void> => {
        if (attemptNumber > 1) {
          policy.onRetry();
        }
        const results = flattenResult({
          batch: remaining,
          outcome: await inner.send(remaining, signal),
        });
        const failedParts = results.filter(isFailed);
        settledResults.push(...results.filter((part) => !isFailed(part)));
        lastFailure = failedParts.length === 0 ? undefined : combineFailures(failedParts);
        if (lastFailure !== undefined) {
          if (!signal.aborted) {
            policy.onFailedAttempt(lastFailure);
          }
          // If the whole batch failed, the same batch is sent again.
          remaining =
            results.length === 1
              ? remaining
              : batch.withRuns(failedParts.flatMap((part) => part.batch.runs));
          throw new RetryRequested(lastFailure.reason);
        }
      };
      try {
        // The timer is unref'd, because the main thread decides how long the process waits for its runs.
        const wait = policy.wait ?? waitUnreferenced;
        await withRetries(
          sendRemaining,
          { ...policy, wait },
          {
            signal,
            canRetry: (error) => error instanceof RetryRequested,
            requestedWaitMs: () => lastFailure?.retryAfterMs,
          },
        );
      } catch (error) {
        if (!(error instanceof RetryRequested) && !signal.aborted) {
          throw error;
        }
      }
      return combineResults(
        settledResults,
        lastFailure === undefined ? [] : [{ batch: remaining, outcome: lastFailure }],
      );
    },
  };
}

const untriedOutcome: RetryOutcome = {
  kind: "retry",
  reason: "the client ended before the first attempt",
  isServerUnavailable: true,
};

/** A batch that may be sent again. */
interface FailedBatch extends BatchResult {
  readonly outcome: RetryOutcome;
}

const isFailed = (result: BatchResult): result is FailedBatch => result.outcome.kind === "retry";

/**
 * Combines several failures into one outcome: with the longest wait, and `isServerUnavailable` only if all failures
 * have it.
 */
function combineFailures(failed: readonly FailedBatch[]): RetryOutcome {
  const waits = failed.flatMap(({ outcome }) => outcome.retryAfterMs ?? []);
  const { code, status, reason = "" } = failed[0]?.outcome ?? {};
  return {
    kind: "retry",
    reason,
    ...(code === undefined ? {} : { code }),
    ...(status === undefined ? {} : { status }),
    isServerUnavailable: failed.every(({ outcome }) => outcome.isServerUnavailable),
    ...(waits.length === 0 ? {} : { retryAfterMs: Math.max(...waits) }),
  };
}

function combineResults(
  settledResults: readonly BatchResult[],
  failed: readonly BatchResult[],
): Outcome {
  const parts = [...settledResults, ...failed];
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only.outcome : { kind: "mixed", parts };
}
