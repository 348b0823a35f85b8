import type { SharedTraffic } from "../model/records/shared-traffic.ts";
import { isSettled } from "../tracing/tape/tally.ts";
import type { Tape } from "../tracing/tape/tape.ts";

/** How long an end waits for a server that this process never reached. */
const unreachedMs = 1_000;
const checkAgainMs = 25;

/**
 * Whether the server was not reached: no connection could be made in this process, or all that answered was
 * something else, such as a web page. A server that is slow to answer its first request, or cuts the
 * connection, is there; and a worker that is busy has not tried yet.
 */
export const isUnreached = (traffic: SharedTraffic): boolean =>
  traffic.requests > 0 &&
  traffic.responses === 0 &&
  (traffic.isUnconnected || traffic.lastFailure?.status !== undefined);

/**
 * Runs a wait that ends early when its argument settles: when a server was not reached for
 * {@link unreachedMs}, counted from now or, as a worker takes its time to start, from the first request.
 */
export async function whileHopeful<T>(
  traffic: SharedTraffic,
  wait: (hopeless: Promise<void>) => Promise<T>,
): Promise<T> {
  let triedAt: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  const hopeless = new Promise<void>((resolve) => {
    timer = setInterval(() => {
      if (traffic.requests > 0) {
        triedAt ??= performance.now();
      }
      const isOver = triedAt !== undefined && performance.now() - triedAt >= unreachedMs;
      if (isOver && isUnreached(traffic)) {
        resolve();
      }
    }, checkAgainMs);
    // Whoever waits for the records holds the process.
    timer.unref();
  });
  try {
    return await wait(hopeless);
  } finally {
    clearInterval(timer);
  }
}

/** Blocks until the outcome of each record is known, at most `timeoutMs`; the workers go on meanwhile. */
export function waitForTapes(
  tapes: readonly Tape[],
  traffic: SharedTraffic,
  timeoutMs: number,
): void {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const seen = traffic.finished;
    const left = deadline - performance.now();
    if (left <= 0 || tapes.every(isSettled)) {
      return;
    }
    traffic.waitForTape(seen, left);
  }
}
