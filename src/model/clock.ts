import { performance as ownPerformance } from "node:perf_hooks";

/** Returns whole microseconds since the Unix epoch. The time can go back when the system clock is set back. */
export type Clock = () => number;

/** Time sources of a clock, both in milliseconds. */
export interface ClockSources {
  /** Returns the wall-clock time since the Unix epoch. */
  readonly now: () => number;
  /** Returns the time since an arbitrary fixed moment, including fractions of a millisecond. It never goes back. */
  readonly monotonic: () => number;
  /**
   * Whether `now` is the original system clock. A replacement, such as fake timers, can be set at
   * any moment.
   */
  readonly isSystemClock: () => boolean;
}

/** How far the computed time may differ from the wall clock before a new anchor is set, in milliseconds. */
const driftLimitMs = 2;
/**
 * How long a reading of the system's wall clock is reused, in milliseconds. Reading the wall clock at
 * each call would double the time that a call takes.
 */
const wallReuseMs = 1;

/**
 * Creates a clock that is as accurate as the wall clock and as precise as the monotonic one. It adds the monotonic time
 * that has passed to an anchor, which is an earlier reading of the wall clock. It reads a new anchor when the system
 * clock is set or slewed.
 */
export function createClock({ now, monotonic, isSystemClock }: ClockSources): Clock {
  let anchorMs = Number.NaN;
  let anchorMonotonic = 0;
  /** Monotonic time when the system's wall clock was last read. */
  let wallReadAt = Number.NaN;
  return () => {
    const monotonicMs = monotonic();
    const currentMs = anchorMs + (monotonicMs - anchorMonotonic);
    // The comparison is false if `wallReadAt` is NaN, and if fake timers replaced the monotonic clock by one that shows
    // an earlier time.
    if (monotonicMs >= wallReadAt && monotonicMs - wallReadAt < wallReuseMs && isSystemClock()) {
      return Math.floor(currentMs * 1_000);
    }
    const wallMs = now();
    wallReadAt = isSystemClock() ? monotonicMs : Number.NaN;
    // Before the first anchor is set, `currentMs` is NaN and this comparison is false, so that an anchor is set.
    if (Math.abs(currentMs - wallMs) <= driftLimitMs) {
      return Math.floor(currentMs * 1_000);
    }
    anchorMs = wallMs;
    anchorMonotonic = monotonicMs;
    return Math.floor(wallMs * 1_000);
  };
}

const systemNow = Date.now;
const isSystemClock = (): boolean => Date.now === systemNow;

/**
 * The process's clock. It reads its sources at each call, so that fake timers work. Without fake
 * timers it avoids `globalThis.performance`, an accessor that costs as much as reading the time.
 */
export const clock: Clock = createClock({
  now: () => Date.now(),
  monotonic: () => (isSystemClock() ? ownPerformance.now() : performance.now()),
  isSystemClock,
});
