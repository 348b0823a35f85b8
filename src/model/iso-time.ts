let cachedMinute = Number.NaN;
let cachedPrefix = "";

/** Converts microseconds since the Unix epoch to ISO 8601 in UTC, with six decimals of the second. */
export function toIso(micros: number): string {
  const minute = Math.floor(micros / 60_000_000);
  // Most runs that are formatted together began within a few minutes, so the text of the last minute is cached.
  if (minute !== cachedMinute) {
    cachedPrefix = new Date(minute * 60_000).toISOString().slice(0, prefixLength);
    cachedMinute = minute;
  }
  const microsOfMinute = micros - minute * 60_000_000;
  const second = Math.floor(microsOfMinute / 1_000_000);
  const fraction = String(microsOfMinute - second * 1_000_000).padStart(6, "0");
  return `${cachedPrefix}${second < 10 ? "0" : ""}${second}.${fraction}Z`;
}

/** Length of `2026-11-21T10:11:`. */
const prefixLength = 17;
