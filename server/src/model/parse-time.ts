import { RequestError } from "./errors.ts";

const isoPattern =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*([Zz]|[+-]\d{2}(?::?\d{2})?)?$/;

/** The year 10000, microseconds: what the last ones of 9999 are rounded to. */
const endOfTime = 253_402_300_800_000_000;

/**
 * The last time that can be stored, 2255-06-05T23:47:34.740991Z. The microseconds of later ones are no exact numbers:
 * SQLite would store them, and refuse to read the row.
 */
export const latestMicros = Number.MAX_SAFE_INTEGER;

/**
 * Microseconds since the Unix epoch of an ISO 8601 text, UTC where it names no zone, or of epoch
 * milliseconds. `undefined` where it is neither, before 1970 or after {@link latestMicros}.
 */
export function parseTime(value: unknown): number | undefined {
  const micros = parseAnyTime(value);
  return micros !== undefined && micros <= latestMicros ? micros : undefined;
}

/** As {@link parseTime}, for a bound that stored times are compared with: up to the year 9999, later ones as the latest. */
export function parseTimeBound(value: unknown): number | undefined {
  const micros = parseAnyTime(value);
  return micros === undefined ? undefined : Math.min(micros, latestMicros);
}

function parseAnyTime(value: unknown): number | undefined {
  const micros = typeof value === "number" ? Math.round(value * 1_000) : parseIso(value);
  return micros !== undefined && micros >= 0 && micros <= endOfTime ? micros : undefined;
}

/** What is wrong with a value that {@link parseTime} refuses. */
export const timeProblem = (value: unknown): string =>
  parseAnyTime(value) === undefined
    ? "is neither an ISO 8601 time nor epoch milliseconds"
    : "is after 2255-06-05, the last day that can be stored";

/**
 * As {@link parseTime}; `null` where it is left out.
 *
 * @throws RequestError 422: it is no time; the detail names it.
 */
export function microsOf(
  time: string | number | null | undefined,
  name: string,
  parse: (value: unknown) => number | undefined = parseTime,
): number | null {
  if (time === undefined || time === null) {
    return null;
  }
  const micros = parse(time);
  if (micros === undefined) {
    throw new RequestError(422, `${name} ${timeProblem(time)}`);
  }
  return micros;
}

/** The second that was read last, as it stood there, and its microseconds: times of one request are close. */
let knownSecond = "";
let knownMicros = 0;

/** `2026-11-21T10:11:12.345678Z`, as our clients write it. */
const usualTime = /^.{16}:\d\d\.\d{6}Z$/s;
const secondLength = 19;

function parseIso(value: unknown): number | undefined {
  if (typeof value !== "string" || !usualTime.test(value)) {
    return parseAnyIso(value);
  }
  const second = value.slice(0, secondLength);
  if (second !== knownSecond) {
    const micros = parseAnyIso(`${second}Z`);
    if (micros === undefined) {
      return undefined;
    }
    knownSecond = second;
    knownMicros = micros;
  }
  return knownMicros + Number(value.slice(secondLength + 1, -1));
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
    // Of years below 100 it makes some of the last century.
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
  const seconds = Number(hour) * 3_600 + Number(minute) * 60 + Number(second) - zoneSeconds(zone);
  return (dayStart / 1_000 + seconds) * 1_000_000 + Number(fraction.slice(0, 6).padEnd(6, "0"));
}

function zoneSeconds(zone: string | undefined): number {
  if (zone === undefined || zone === "Z" || zone === "z") {
    return 0;
  }
  const digits = zone.slice(1).replace(":", "").padEnd(4, "0");
  const seconds = Number(digits.slice(0, 2)) * 3_600 + Number(digits.slice(2)) * 60;
  return zone.startsWith("-") ? -seconds : seconds;
}
