import { setTimeout as timer } from "node:timers/promises";
import pRetry from "p-retry";
import { retryWaitMs } from "../../model/records/retry-wait.ts";
import type { RetryWaits } from "../../model/records/retry-wait.ts";
import { resultParts } from "./sink.ts";
import type { Batch, BatchResult, Outcome, RetryOutcome, Sink } from "./sink.ts";

export interface RetryPolicy extends RetryWaits {
  /** Tries in one go, the first included. */
  readonly attempts: number;
  /** Called for every try after the first, before it. */
  readonly onRetry: () => void;
  /** Called as soon as a try failed, whether or not another follows. */
  readonly onFailedTry: (outcome: RetryOutcome) => void;
  /** From 0 to below 1. @defaultValue Math.random */
  readonly random?: () => number;
  /** Rejects when `signal` aborts. @defaultValue a timer that does not hold the process */
  readonly wait?: (delayMs: number, signal: AbortSignal) => Promise<void>;
}

/** Carries the outcome `retry` to p-retry, which retries only after errors. */
class TryAgain extends Error {}

/**
 * The one layer that retries. Waits double from `firstWaitMs` to `maxWaitMs`, with jitter; a longer `Retry-After` of the server
 * is waited for, within its limit. Of a batch with several outcomes only the failed runs are sent again. Returns the
 * last outcome and never throws.
 */
export function retryingSink(inner: Sink, policy: RetryPolicy): Sink {
  return {
    async send(batch: Batch, signal: AbortSignal): Promise<Outcome> {
      const settled: BatchResult[] = [];
      let rest = batch;
      let last: RetryOutcome | undefined = untried;
      const attempt = async (count: number): Promise<void> => {
        if (count > 1) {
          policy.onRetry();
        }
        const judged = resultParts({ batch: rest, outcome: await inner.send(rest, signal) });
        const failed = judged.filter(isFailed);
        settled.push(...judged.filter((part) => !isFailed(part)));
        last = failed.length === 0 ? undefined : worstOf(failed);
        if (last !== undefined) {
          if (!signal.aborted) {
            policy.onFailedTry(last);
          }
          // The same batch where all of it failed: it may be framed already.
          rest = judged.length === 1 ? rest : batch.part(failed.flatMap((part) => part.batch.runs));
          throw new TryAgain(last.reason);
        }
      };
      try {
        await pRetry(attempt, {
          retries: policy.attempts - 1,
          // The waits are ours: p-retry's lose their jitter at the longest wait.
          minTimeout: 0,
          signal,
          shouldRetry: ({ error }) => error instanceof TryAgain,
          onFailedAttempt: ({ retriesLeft, attemptNumber }) =>
            retriesLeft > 0 && last !== undefined && !signal.aborted
              ? waitFor(waitMs(last, attemptNumber, policy), signal, policy)
              : undefined,
        });
      } catch (error) {
        if (!(error instanceof TryAgain) && !signal.aborted) {
          throw error;
        }
      }
      return joined(settled, last === undefined ? [] : [{ batch: rest, outcome: last }]);
    },
  };
}

const untried: RetryOutcome = { kind: "retry", reason: "ended before the first try", away: true };

interface FailedBatch extends BatchResult {
  readonly outcome: RetryOutcome;
}

const isFailed = (judged: BatchResult): judged is FailedBatch => judged.outcome.kind === "retry";

/** One outcome for several failures: the longest wait, and away only where all are. */
function worstOf(failed: readonly FailedBatch[]): RetryOutcome {
  const waits = failed.flatMap(({ outcome }) => outcome.afterMs ?? []);
  const { code, status, reason = "" } = failed[0]?.outcome ?? {};
  return {
    kind: "retry",
    reason,
    ...(code === undefined ? {} : { code }),
    ...(status === undefined ? {} : { status }),
    away: failed.every(({ outcome }) => outcome.away),
    ...(waits.length === 0 ? {} : { afterMs: Math.max(...waits) }),
  };
}

function joined(settled: readonly BatchResult[], failed: readonly BatchResult[]): Outcome {
  const parts = [...settled, ...failed];
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only.outcome : { kind: "mixed", parts };
}

const waitMs = ({ afterMs }: RetryOutcome, attempt: number, policy: RetryPolicy): number => {
  const { random = Math.random } = policy;
  return retryWaitMs({ attempt, afterMs, random: random() }, policy);
};

async function waitFor(delayMs: number, signal: AbortSignal, policy: RetryPolicy): Promise<void> {
  const { wait = unheldWait } = policy;
  await wait(delayMs, signal);
}

/** Unref'd: the main thread decides how long the process waits for its runs. */
const unheldWait = (delayMs: number, signal: AbortSignal): Promise<void> =>
  timer(delayMs, undefined, { signal, ref: false });
