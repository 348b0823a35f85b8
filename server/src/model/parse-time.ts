import { RequestError } from "./errors.ts";

const isoPattern =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*([Zz]|[+-]\d{2}(?::?\d{2})?)?$/;

/** Start of the year 10000 in microseconds. Times at the very end of 9999 are rounded up to it. */
const year10000Micros = 253_402_300_800_000_000;

/**
 * The last time that can be stored, 2255-06-05T23:47:34.740991Z. In microseconds, later times exceed the integers
 * that JavaScript represents exactly, and SQLite would store them but refuse to read the row.
 */
export const latestMicros = Number.MAX_SAFE_INTEGER;

/**
 * Parses an ISO 8601 text, in UTC if it has no time zone, or epoch milliseconds. Returns microseconds since the
 * Unix epoch; `undefined` for anything else, and for times before 1970 or after {@link latestMicros}.
 */
export function parseTime(value: unknown): number | undefined {
  const micros = parseAnyTime(value);
  return micros !== undefined && micros <= latestMicros ? micros : undefined;
}

/**
 * Like {@link parseTime}, for a bound that stored times are compared with: accepts times up to the year 9999, and
 * returns {@link latestMicros} for those that can't be stored.
 */
export function parseTimeBound(value: unknown): number | undefined {
  const micros = parseAnyTime(value);
  return micros === undefined ? undefined : Math.min(micros, latestMicros);
}

function parseAnyTime(value: unknown): number | undefined {
  const micros = typeof value === "number" ? Math.round(value * 1_000) : parseIso(value);
  return micros !== undefined && micros >= 0 && micros <= year10000Micros ? micros : undefined;
}

/**
 * Describes why {@link parseTime} rejects a value. The text begins with a verb, because callers put the name of the
 * value in front of it.
 */
export const describeInvalidTime = (value: unknown): string =>
  parseAnyTime(value) === undefined
    ? "is neither an ISO 8601 time nor epoch milliseconds"
    : "is after 2255-06-05, the last day that can be stored";

/**
 * Like {@link parseTime}; returns `null` if the value is absent.
 *
 * @throws RequestError 422: it is not a time that can be stored. The detail begins with `name`.
 */
export function parseOptionalTime(
  time: string | number | null | undefined,
  name: string,
  parse: (value: unknown) => number | undefined = parseTime,
): number | null {
  if (time === undefined || time === null) {
    return null;
  }
  const micros = parse(time);
  if (micros === undefined) {
    throw new RequestError(422, `${name} ${describeInvalidTime(time)}`);
  }
  return micros;
}

/**
 * Caches the last second that was parsed, as text and in microseconds since the Unix epoch: times of one request are
 * close together, so most of them share a second with the one before.
 */
let cachedSecond = "";
let cachedMicros = 0;

/** Matches `2026-11-21T10:11:12.345678Z`, which is how the Millrace SDK writes times. */
const sdkTimePattern = /^.{16}:\d\d\.\d{6}Z$/s;
const lengthUpToSecond = 19;

function parseIso(value: unknown): number | undefined {
  if (typeof value !== "string" || !sdkTimePattern.test(value)) {
    return parseAnyIso(value);
  }
  const second = value.slice(0, lengthUpToSecond);
  if (second !== cachedSecond) {
    const micros = parseAnyIso(`${second}Z`);
    if (micros === undefined) {
      return undefined;
    }
    cachedSecond = second;
    cachedMicros = micros;
  }
  return cachedMicros + Number(value.slice(lengthUpToSecond + 1, -1));
}

function parseAnyIso(value: unknown): number | undefined {
  const parts = typeof value === "string" ? isoPattern.exec(value) : null;
  if (parts === null) {
    return undefined;
  }
  const [, year, month, day, hour, minute, second = "0", fraction = "", zone] = parts;
  const dayStart = Date.UTC(Number(year), Number(month) - 1, Number(day));
  const date = new Date(dayStart);
  if (
    // `Date.UTC` moves years below 100 into the 20th century.
    date.getUTCFullYear() !== Number(year) ||
    date.getUTCDate() !== Number(day) ||
    Number(month) < 1 ||
    Number(month) > 12 ||
    Number(hour) > 23 ||
    Number(minute) > 59 ||
    Number(second) > 59
  ) {
    return undefined;
  }
  const seconds =
    Number(hour) * 3_600 + Number(minute) * 60 + Number(second) - parseZoneOffsetSeconds(zone);
  return (dayStart / 1_000 + seconds) * 1_000_000 + Number(fraction.slice(0, 6).padEnd(6, "0"));
}

function parseZoneOffsetSeconds(zone: string | undefined): number {
  if (zone === undefined || zone === "Z" || zone === "z") {
    return 0;
  }
  const digits = zone.slice(1).replace(":", "").padEnd(4, "0");
  const seconds = Number(digits.slice(0, 2)) * 3_600 + Number(digits.slice(2)) * 60;
  return zone.startsWith("-") ? -seconds : seconds;
}
