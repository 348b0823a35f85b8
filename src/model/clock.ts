import { performance as ownPerformance } from "node:perf_hooks";

/** Whole microseconds since the Unix epoch. May step back when the system's clock does. */
export type Clock = () => number;

/** Where a clock's time comes from, both in milliseconds. */
export interface ClockSources {
  /** Wall time since the Unix epoch. */
  readonly now: () => number;
  /** Time since any fixed moment, with fraction, never stepping back. */
  readonly monotonic: () => number;
  /** Whether the wall time is the system's own: what replaces it, as fake timers do, may be set at any moment. */
  readonly isSystems: () => boolean;
}

/** How far the two sources may part before the wall clock is believed again. */
const driftLimitMs = 2;
/** How long a reading of the system's wall clock is used: reading it costs as much as the rest of the call. */
const believedMs = 1;

/**
 * Makes a clock that is as right as the wall clock and as fine as the monotonic one: it counts
 * monotonic time from an anchor, and anchors again when the system's clock is set or slewed.
 */
export function createClock({ now, monotonic, isSystems }: ClockSources): Clock {
  let anchorMs = Number.NaN;
  let anchorMonotonic = 0;
  /** When the system's wall clock was last read, in time of the monotonic clock. */
  let askedAt = Number.NaN;
  return () => {
    const elapsed = monotonic();
    const ms = anchorMs + (elapsed - anchorMonotonic);
    // False for NaN, and where the monotonic clock was replaced by another one that is behind.
    if (elapsed >= askedAt && elapsed - askedAt < believedMs && isSystems()) {
      return Math.floor(ms * 1_000);
    }
    const wallMs = now();
    askedAt = isSystems() ? elapsed : Number.NaN;
    // Written so that NaN, before the first anchor, counts as drifted.
    if (Math.abs(ms - wallMs) <= driftLimitMs) {
      return Math.floor(ms * 1_000);
    }
    anchorMs = wallMs;
    anchorMonotonic = elapsed;
    return Math.floor(wallMs * 1_000);
  };
}

const systemNow = Date.now;
const isSystems = (): boolean => Date.now === systemNow;

/**
 * The process's clock. Its sources are looked up at each call, so that fake timers work: while there are none, not
 * through `globalThis`, where `performance` is an accessor that costs as much as reading the time.
 */
export const clock: Clock = createClock({
  now: () => Date.now(),
  monotonic: () => (isSystems() ? ownPerformance.now() : performance.now()),
  isSystems,
});
