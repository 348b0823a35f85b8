import type { SharedTraffic } from "../model/records/shared-traffic.ts";
import { hasAllOutcomes } from "../tracing/tape/tally.ts";
import type { Tape } from "../tracing/tape/tape.ts";

/** Milliseconds that a process waits, when it ends, for a server that it never reached. */
const unreachedLimitMs = 1_000;
const checkIntervalMs = 25;

/**
 * Whether the server was never reached: this process could not connect, or every response was something that the server
 * would not send, such as a web page. A server that responds slowly to the first request, or closes the connection,
 * counts as reached. A server that a busy worker has not tried to reach yet counts as reached, too.
 */
export const isUnreached = (traffic: SharedTraffic): boolean =>
  traffic.requests > 0 &&
  traffic.responses === 0 &&
  (traffic.isUnconnected || traffic.lastFailure?.status !== undefined);

/**
 * Calls `wait` with a promise that resolves when the server was not reached for {@link unreachedLimitMs}, so that the
 * wait can end early. That time begins now if a request was sent before. Otherwise it begins when the first request is
 * sent, because the worker that sends it may still be starting.
 */
export async function waitWhileReachable<T>(
  traffic: SharedTraffic,
  wait: (unreachable: Promise<void>) => Promise<T>,
): Promise<T> {
  let triedAt: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  const unreachable = new Promise<void>((resolve) => {
    timer = setInterval(() => {
      if (traffic.requests > 0) {
        triedAt ??= performance.now();
      }
      const isTimeUp = triedAt !== undefined && performance.now() - triedAt >= unreachedLimitMs;
      if (isTimeUp && isUnreached(traffic)) {
        resolve();
      }
    }, checkIntervalMs);
    // The timer is unref'd: the code that waits for the records keeps the process alive.
    timer.unref();
  });
  try {
    return await wait(unreachable);
  } finally {
    clearInterval(timer);
  }
}

/**
 * Blocks until the outcome of each record on the tapes (the buffers of recorded runs) is known, at most `timeoutMs`.
 * Workers continue meanwhile.
 */
export function waitForTapes(
  tapes: readonly Tape[],
  traffic: SharedTraffic,
  timeoutMs: number,
): void {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const finishedTapesBefore = traffic.finishedTapes;
    const remainingMs = deadline - performance.now();
    if (remainingMs <= 0 || tapes.every(hasAllOutcomes)) {
      return;
    }
    traffic.waitForTape(finishedTapesBefore, remainingMs);
  }
}
