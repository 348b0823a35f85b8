import { microsToStamp, stampToIso } from "millrace/model";

let cachedSecond = Number.NaN;
let cachedPrefix = "";

/** A time of the store as the wire has it: ISO 8601, UTC, microseconds. */
export function toIso(micros: number): string {
  const second = Math.floor(micros / 1_000_000);
  // Runs of one answer have begun within few seconds.
  if (second !== cachedSecond) {
    cachedPrefix = stampToIso(microsToStamp(second * 1_000_000)).slice(0, prefixLength);
    cachedSecond = second;
  }
  return `${cachedPrefix}${String(micros - second * 1_000_000).padStart(6, "0")}Z`;
}

/** Of `2026-11-21T10:11:12.345678Z`, up to the point. */
const prefixLength = 20;

/** `null` where the cost is not known. */
export const toCostText = (cost: number | null | undefined): string | null =>
  typeof cost === "number" ? String(cost) : null;
