import type { Claim } from "../queue.ts";

const waitingMs = 5_000;
const longestMs = 60_000;
const shortestMs = 2_000;

/**
 * When a claim is to be renewed: after a third of the time that is left of it, so that one answer may fail. Where no run
 * waited, when to ask again. `false`: there is nothing to renew.
 */
export function heartbeatMs(claim: Claim | null | undefined, nowMs: number): number | false {
  if (claim === null) {
    return waitingMs;
  }
  return claim?.untilMs === undefined
    ? false
    : Math.min(longestMs, Math.max(shortestMs, (claim.untilMs - nowMs) / 3));
}
