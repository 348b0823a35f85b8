/** Durations in microseconds, the unit of stored times. */
export const minuteMicros = 60_000_000;
export const hourMicros = 60 * minuteMicros;
export const dayMicros = 24 * hourMicros;
