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
    throw new ValidationError("dotted_order is empty");
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
    throw new ValidationError(`dotted_order: segment ${index + 1} names no day and time: ${stamp}`);
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
    // With its fraction: 24:00:00 is a time, any later one of that hour is none, and is not kept here.
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

/** The stamp of a time in whole microseconds since the Unix epoch, years 1970 to 9999. */
export function microsToStamp(micros: number): string {
  const rest = intoSecond(micros);
  const millis = Math.floor(rest / 1_000);
  return `${cachedPrefix}${threeDigits[millis]}${threeDigits[rest - millis * 1_000]}Z`;
}

/** Writes the stamp of a time, as {@link microsToStamp} makes it, into {@link stampLength} bytes. */
export function writeStamp(bytes: Buffer, at: number, micros: number): void {
  // Whole numbers of 32 bits all along, which are divided by a multiplication.
  let rest = intoSecond(micros) | 0;
  for (let i = 0; i < secondLength; i++) {
    bytes[at + i] = cachedBytes[i] ?? 0;
  }
  for (let digit = at + stampLength - 2; digit >= at + secondLength; digit--) {
    const tenth = (rest / 10) | 0;
    bytes[digit] = zero + rest - 10 * tenth;
    rest = tenth;
  }
  bytes[at + stampLength - 1] = zulu;
}

const zero = 0x30;
const zulu = 0x5a;

/** Microseconds since the second began, whose text is cached from here on. */
function intoSecond(micros: number): number {
  const second = Math.floor(micros / 1_000_000);
  if (second !== cachedSecond) {
    const iso = new Date(second * 1_000).toISOString().slice(0, 19);
    cachedBytes.write(iso.replaceAll(/[-:]/g, ""), "latin1");
    // From bytes, which makes one flat string.
    cachedPrefix = cachedBytes.toString("latin1");
    cachedSecond = second;
  }
  return micros - second * 1_000_000;
}
