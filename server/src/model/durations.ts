/** Durations in microseconds, the unit of stored times. */
export const minuteMicros = 60_000_000;
/** An hour in microseconds. */
export const hourMicros = 60 * minuteMicros;
/** A day in microseconds. */
export const dayMicros = 24 * hourMicros;
