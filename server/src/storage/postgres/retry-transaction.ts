import { setTimeout as delay } from "node:timers/promises";
import { ConnectionLostError, isConflict, isConnectionLost } from "./postgres-errors.ts";

/** How often, and for how long, a transaction is repeated. */
export interface RetryLimits {
  /** Maximum number of times that a transaction is repeated because it conflicted with others. */
  readonly conflicts: number;
  /** Milliseconds for which a transaction is repeated while the connection is lost or the database fails over. */
  readonly failoverMs: number;
  /** The first wait in milliseconds. It doubles up to a second. */
  readonly firstDelayMs: number;
}

const retryLimits: RetryLimits = { conflicts: 8, failoverMs: 10_000, firstDelayMs: 10 };

/**
 * Runs a transaction, and repeats it if it failed for a temporary reason: a conflict with another transaction, or a
 * lost connection. If the connection was lost during the commit, the transaction is not repeated, unless repeating it
 * is harmless, because it may have been committed.
 *
 * @param isRepeatable - whether repeating a committed transaction is harmless
 */
export async function retryTransaction<Result>(
  run: () => Promise<Result>,
  { isRepeatable, signal }: { readonly isRepeatable: boolean; readonly signal?: AbortSignal },
  { conflicts, failoverMs, firstDelayMs }: RetryLimits = retryLimits,
): Promise<Result> {
  const untilMs = performance.now() + failoverMs;
  let conflictCount = 0;
  for (let delayMs = firstDelayMs; ; delayMs = Math.min(2 * delayMs, maxDelayMs)) {
    try {
      return await run();
    } catch (cause) {
      const isOutcomeUnknown = cause instanceof ConnectionLostError && cause.wasCommitting;
      const mayRepeat = isConflict(cause)
        ? (conflictCount += 1) <= conflicts
        : isConnectionLost(cause) &&
          (!isOutcomeUnknown || isRepeatable) &&
          performance.now() + delayMs < untilMs;
      if (!mayRepeat || signal?.aborted === true) {
        throw cause;
      }
    }
    // Half of the wait is random, so that two transactions that conflicted do not conflict again.
    await delay(delayMs / 2 + (Math.random() * delayMs) / 2);
  }
}

const maxDelayMs = 1_000;
