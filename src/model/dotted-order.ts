import { ValidationError } from "./errors.ts";
import { isUuid } from "./ids.ts";

/** `YYYYMMDDTHHMMSS` + six digits + `Z` (docs/wire.md, "Dotted order"). */
export const stampLength = 22;
export const uuidLength = 36;
/** Of the stamp up to its second. */
const secondLength = 15;
const segmentLength = stampLength + uuidLength;
const stampPattern = /^\d{8}T\d{12}Z$/;

/** One step of a run's ancestry. */
export interface DottedOrderSegment {
  /** The start, as written: `20261121T101112345678Z`. */
  readonly stamp: string;
  readonly runId: string;
}

/** A run's ancestry, root first. */
export interface DottedOrder {
  readonly segments: readonly DottedOrderSegment[];
  readonly traceId: string;
  readonly runId: string;
  /** Absent for a root. */
  readonly parentRunId?: string;
}

/**
 * Reads a dotted order.
 *
 * @throws {@link ValidationError} a segment is not a stamp and a UUID, or names no day and time.
 */
export function parseDottedOrder(text: string): DottedOrder {
  const segments = text.split(".").map(parseSegment);
  const [root] = segments;
  const own = segments.at(-1);
  if (root === undefined || own === undefined) {
    throw new ValidationError(
      "dotted_order is empty: it must be segments of <YYYYMMDDTHHMMSSffffffZ><uuid>, joined by dots",
    );
  }
  const parent = segments.at(-2);
  return {
    segments,
    traceId: root.runId,
    runId: own.runId,
    ...(parent === undefined ? {} : { parentRunId: parent.runId }),
  };
}

/** The text of a dotted order; the inverse of {@link parseDottedOrder}. */
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
      `dotted_order: segment ${index + 1} names no day and time: ${stamp}; it must be YYYYMMDDTHHMMSSffffffZ`,
    );
  }
  return { stamp, runId };
}

/** The second of the stamp that was read last, and its microseconds: stamps come in swarms. */
let readSecond = "";
let readMicros = Number.NaN;

/** Microseconds since the Unix epoch of a stamp; NaN where it names no day and time. */
export function stampToMicros(stamp: string): number {
  const second = stamp.slice(0, secondLength);
  if (second !== readSecond) {
    // Check the fraction too: 24:00:00 is a valid time, anything later in that hour is not.
    const millis = Date.parse(stampToIso(stamp).slice(0, 23) + "Z");
    readMicros = (millis - Number(stamp.slice(secondLength, secondLength + 3))) * 1_000;
    readSecond = stamp.startsWith("24", 9) ? "" : second;
  }
  return readMicros + Number(stamp.slice(secondLength, stampLength - 1));
}

/** `20261121T101112345678Z` as `2026-11-21T10:11:12.345678Z`. */
export const stampToIso = (stamp: string): string =>
  `${stamp.slice(0, 4)}-${stamp.slice(4, 6)}-${stamp.slice(6, 8)}T${stamp.slice(9, 11)}:${stamp.slice(11, 13)}:${stamp.slice(13, 15)}.${stamp.slice(15, 21)}Z`;

const threeDigits = Array.from({ length: 1_000 }, (_, n) => String(n).padStart(3, "0"));
let cachedSecond = Number.NaN;
let cachedPrefix = "";
const cachedBytes = Buffer.alloc(secondLength);
/** The first and the last eight of these bytes, as little-endian numbers of 64 bits. */
let secondBytes0 = 0;
let secondBytes7 = 0;

/** The stamp of a time in whole microseconds since the Unix epoch, years 1970 to 9999. */
export function microsToStamp(micros: number): string {
  const rest = intoSecond(micros);
  const millis = Math.floor(rest / 1_000);
  return `${cachedPrefix}${threeDigits[millis]}${threeDigits[rest - millis * 1_000]}Z`;
}

/** Writes the stamp of a time, as {@link microsToStamp} makes it, into {@link stampLength} bytes. */
export function writeStamp(view: DataView, at: number, micros: number): void {
  // A whole number of 32 bits, which is divided by a multiplication.
  const rest = intoSecond(micros) | 0;
  const millis = (rest / 1_000) | 0;
  // What these moves write beyond their part is written over by the next one.
  view.setFloat64(at, secondBytes0, true);
  view.setFloat64(at + secondLength - 8, secondBytes7, true);
  view.setInt32(at + secondLength, threeDigitBytes[millis] ?? 0, true);
  view.setInt32(at + secondLength + 3, threeDigitBytes[rest - millis * 1_000] ?? 0, true);
}

/** Three digits and the stamp's end, as little-endian numbers of 32 bits. */
const threeDigitBytes = Int32Array.from(threeDigits, (digits) =>
  Buffer.from(`${digits}Z`, "latin1").readInt32LE(),
);

/** Microseconds since the second began, whose text is cached from here on. */
function intoSecond(micros: number): number {
  const second = Math.floor(micros / 1_000_000);
  if (second !== cachedSecond) {
    const iso = new Date(second * 1_000).toISOString().slice(0, 19);
    cachedBytes.write(iso.replaceAll(/[-:]/g, ""), "latin1");
    // From bytes, which makes one flat string.
    cachedPrefix = cachedBytes.toString("latin1");
    // As the text is ASCII, neither is a NaN.
    secondBytes0 = cachedBytes.readDoubleLE(0);
    secondBytes7 = cachedBytes.readDoubleLE(secondLength - 8);
    cachedSecond = second;
  }
  return micros - second * 1_000_000;
}
