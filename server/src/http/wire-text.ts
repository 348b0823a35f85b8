import { microsToStamp, stampToIso } from "millrace/model";

let cachedSecond = Number.NaN;
let cachedPrefix = "";

/** Formats a stored time for the wire: ISO 8601, UTC, with microseconds. */
export function toIso(micros: number): string {
  const second = Math.floor(micros / 1_000_000);
  // Most runs of a response began within a few seconds.
  if (second !== cachedSecond) {
    cachedPrefix = stampToIso(microsToStamp(second * 1_000_000)).slice(0, prefixLength);
    cachedSecond = second;
  }
  return `${cachedPrefix}${String(micros - second * 1_000_000).padStart(6, "0")}Z`;
}

/** Length of `2026-11-21T10:11:12.`. */
const prefixLength = 20;

/** `null` if the cost is unknown. */
export const toCostText = (cost: number | null | undefined): string | null =>
  typeof cost === "number" ? String(cost) : null;
