/** Returns the current time in microseconds since the Unix epoch. */
export type Clock = () => number;

/** The current time in microseconds since the Unix epoch, with the precision of a millisecond. */
export const microsNow: Clock = () => Date.now() * 1_000;

/**
 * Creates a clock that never returns the same time twice, so that the order of times is the order of the calls. Several
 * times within a millisecond are a microsecond apart.
 */
export function createIncreasingClock(nowMs: () => number = Date.now): Clock {
  let lastMicros = 0;
  return () => (lastMicros = Math.max(lastMicros + 1, nowMs() * 1_000));
}
