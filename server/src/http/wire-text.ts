let cachedMinute = Number.NaN;
let cachedPrefix = "";

/** Formats a stored time for responses: ISO 8601, UTC, with microseconds. */
export function toIso(micros: number): string {
  const minute = Math.floor(micros / 60_000_000);
  // Most runs of a response began within a few minutes, so the text of the last minute is cached.
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

/** Formats a cost for responses; `null` if it is unknown. */
export const toCostText = (cost: number | null | undefined): string | null =>
  typeof cost === "number" ? String(cost) : null;
