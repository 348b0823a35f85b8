import { ValidationError } from "./errors.ts";
import { isUuid } from "./ids.ts";

/** Length of a timestamp: `YYYYMMDDTHHMMSS` + six digits + `Z` (docs/wire.md, "Dotted order"). */
export const stampLength = 22;
/** Length of a UUID as text. */
export const uuidLength = 36;
/** Length of a timestamp without its fraction of a second: `YYYYMMDDTHHMMSS`. */
const secondLength = 15;
const segmentLength = stampLength + uuidLength;
const stampPattern = /^\d{8}T\d{12}Z$/;

/** One segment of a dotted order: the start time and the id of a run or of one of its ancestors. */
export interface DottedOrderSegment {
  /** The start time, in the format `20261121T101112345678Z`. */
  readonly stamp: string;
  readonly runId: string;
}

/** A parsed dotted order: the ancestors of a run, the root first, and the run itself. */
export interface DottedOrder {
  readonly segments: readonly DottedOrderSegment[];
  readonly traceId: string;
  readonly runId: string;
  /** Absent for the root of a trace. */
  readonly parentRunId?: string;
}

/**
 * Parses a dotted order.
 *
 * @throws {@link ValidationError} if a segment is not a timestamp followed by a UUID, or its
 * timestamp is not a valid date and time.
 */
export function parseDottedOrder(text: string): DottedOrder {
  const segments = text.split(".").map(parseSegment);
  const [root] = segments;
  const lastSegment = segments.at(-1);
  if (root === undefined || lastSegment === undefined) {
    throw new ValidationError(
      "dotted_order is empty: it must consist of segments <YYYYMMDDTHHMMSSffffffZ><uuid>, joined by dots",
    );
  }
  const parent = segments.at(-2);
  return {
    segments,
    traceId: root.runId,
    runId: lastSegment.runId,
    ...(parent === undefined ? {} : { parentRunId: parent.runId }),
  };
}

/** Formats a dotted order; the inverse of {@link parseDottedOrder}. */
export const formatDottedOrder = (segments: readonly DottedOrderSegment[]): string =>
  segments.map(({ stamp, runId }) => stamp + runId).join(".");

function parseSegment(text: string, index: number): DottedOrderSegment {
  const stamp = text.slice(0, stampLength);
  const runId = text.slice(stampLength);
  if (text.length !== segmentLength || !stampPattern.test(stamp) || !isUuid(runId)) {
    throw new ValidationError(
      `dotted_order: segment ${index + 1} is not <YYYYMMDDTHHMMSSffffffZ><uuid>: ${JSON.stringify(text.slice(0, 80))}`,
    );
  }
  if (Number.isNaN(stampToMicros(stamp))) {
    throw new ValidationError(
      `dotted_order: segment ${index + 1} is not a valid date and time: ${stamp}; expected YYYYMMDDTHHMMSSffffffZ`,
    );
  }
  return { stamp, runId };
}

/**
 * Cache of the last parsed second and its microseconds: consecutive timestamps are often in the
 * same second.
 */
let parsedSecond = "";
let parsedSecondMicros = Number.NaN;

/**
 * Converts a timestamp to microseconds since the Unix epoch; NaN if it is not a valid date and
 * time.
 */
export function stampToMicros(stamp: string): number {
  const second = stamp.slice(0, secondLength);
  if (second !== parsedSecond) {
    parsedSecondMicros = Date.parse(`${stampToIso(stamp).slice(0, 19)}Z`) * 1_000;
    parsedSecond = second;
  }
  // 24:00:00 is a valid time, but a later time in that hour is not.
  const fraction = Number(stamp.slice(secondLength, stampLength - 1));
  return fraction > 0 && stamp.startsWith("24", 9) ? Number.NaN : parsedSecondMicros + fraction;
}

/** Converts `20261121T101112345678Z` to `2026-11-21T10:11:12.345678Z`. */
export const stampToIso = (stamp: string): string =>
  `${stamp.slice(0, 4)}-${stamp.slice(4, 6)}-${stamp.slice(6, 8)}T${stamp.slice(9, 11)}:${stamp.slice(11, 13)}:${stamp.slice(13, 15)}.${stamp.slice(15, 21)}Z`;

const threeDigits = Array.from({ length: 1_000 }, (_, n) => String(n).padStart(3, "0"));
let cachedSecond = Number.NaN;
let cachedPrefix = "";
/** The same second as `cachedPrefix`, in the format `2026-11-21T10:11:12`. */
let cachedIsoPrefix = "";
const cachedPrefixBytes = Buffer.alloc(secondLength);
/** The first and the last eight bytes of `cachedPrefixBytes`, as little-endian 64-bit floats. */
let cachedFirstDouble = 0;
let cachedLastDouble = 0;

/** Converts whole microseconds since the Unix epoch, in the years 1970 to 9999, to a timestamp. */
export function microsToStamp(micros: number): string {
  const fraction = updateCachedSecond(micros);
  const millis = Math.floor(fraction / 1_000);
  return `${cachedPrefix}${threeDigits[millis]}${threeDigits[fraction - millis * 1_000]}Z`;
}

/** Converts whole microseconds since the Unix epoch, in the years 1970 to 9999, to `2026-11-21T10:11:12.345678Z`. */
export function microsToIso(micros: number): string {
  const fraction = updateCachedSecond(micros);
  const millis = Math.floor(fraction / 1_000);
  return `${cachedIsoPrefix}.${threeDigits[millis]}${threeDigits[fraction - millis * 1_000]}Z`;
}

/** Writes a timestamp, in the format of {@link microsToStamp}, into {@link stampLength} bytes. */
export function writeStamp(view: DataView, offset: number, micros: number): void {
  // Convert the fraction to a 32-bit integer: the engine divides such numbers faster.
  const fraction = updateCachedSecond(micros) | 0;
  const millis = (fraction / 1_000) | 0;
  // The order matters: the second float repeats a byte of the first, and the last integer overwrites the `Z` of the
  // integer before it.
  view.setFloat64(offset, cachedFirstDouble, true);
  view.setFloat64(offset + secondLength - 8, cachedLastDouble, true);
  view.setInt32(offset + secondLength, threeDigitBytes[millis] ?? 0, true);
  view.setInt32(offset + secondLength + 3, threeDigitBytes[fraction - millis * 1_000] ?? 0, true);
}

/** Each of {@link threeDigits}, followed by `Z`, as a little-endian 32-bit integer. */
const threeDigitBytes = Int32Array.from(threeDigits, (digits) =>
  Buffer.from(`${digits}Z`, "latin1").readInt32LE(),
);

/**
 * Returns the number of microseconds since the beginning of the second that contains `micros`. Also updates the cached
 * text of that second.
 */
function updateCachedSecond(micros: number): number {
  const second = Math.floor(micros / 1_000_000);
  if (second !== cachedSecond) {
    cachedIsoPrefix = new Date(second * 1_000).toISOString().slice(0, 19);
    cachedPrefixBytes.write(cachedIsoPrefix.replaceAll(/[-:]/g, ""), "latin1");
    // V8 stores a string that was read from bytes as one flat string.
    cachedPrefix = cachedPrefixBytes.toString("latin1");
    // The text is ASCII, so neither number is a NaN. The bits of a NaN could change when it is stored as a JavaScript
    // number.
    cachedFirstDouble = cachedPrefixBytes.readDoubleLE(0);
    cachedLastDouble = cachedPrefixBytes.readDoubleLE(secondLength - 8);
    cachedSecond = second;
  }
  return micros - second * 1_000_000;
}
