import { ValidationError } from "../../model/errors.ts";

/**
 * Converts a time to its wire form: ISO 8601 in UTC. A text keeps up to nine decimals of its seconds: it may contain
 * microseconds, which a Date would drop.
 *
 * @throws {@link ValidationError} if `time` is neither a Date nor the text of a time. The message contains `name`, the
 * name of the option.
 */
export function toIsoTime(time: Date | string | undefined, name: string): string | undefined {
  if (time === undefined) {
    return undefined;
  }
  const isoTime = normalizeTime(time);
  if (isoTime === undefined) {
    throw new ValidationError(
      `${name} must be a Date, or a time such as "2026-11-21T10:11:12.345678Z" or "2026-11-21"`,
    );
  }
  return isoTime;
}

/** Converts a Date or a text to ISO 8601 in UTC. Returns `undefined` if it is not a valid time. */
export function normalizeTime(time: unknown): string | undefined {
  if (time instanceof Date) {
    const ms = time.getTime();
    return formatTime(ms, Number.isNaN(ms) ? "" : time.toISOString().slice(-4, -1));
  }
  return typeof time === "string" ? (normalizeIsoText(time) ?? normalizeMailDate(time)) : undefined;
}

/** Length of `2026-11-21T10:11:12`. */
const lengthUpToSecond = 19;
/** Maximum number of decimals of the seconds. Servers refuse more. */
const maxFractionDigits = 9;
const minuteMs = 60_000;

const isoPattern =
  /^(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[Tt ](\d\d:\d\d)(?::(\d\d)(?:[.,](\d+))?)?\s?(?:[Zz]|([+-])(\d\d):?(\d\d)?)?)?)?)?$/;

/** Normalizes an ISO 8601 text. A time without a zone is taken as UTC; a day, month or year alone means its start. */
function normalizeIsoText(text: string): string | undefined {
  const parts = isoPattern.exec(text);
  if (parts === null) {
    return undefined;
  }
  const [, year = "", month = "01", day = "01", minute = "00:00", second = "00"] = parts;
  const [fraction, sign, zoneHours = "0", zoneMinutes = "0"] = parts.slice(6);
  const localTime = `${year}-${month}-${day}T${minute}:${second}`;
  const localMs = Date.parse(`${localTime}Z`);
  // Date.parse accepts 30 February, and moves it into March.
  if (
    Number(zoneHours) > 23 ||
    Number(zoneMinutes) > 59 ||
    formatTime(localMs) !== `${localTime}Z`
  ) {
    return undefined;
  }
  const zoneMs = (Number(zoneHours) * 60 + Number(zoneMinutes)) * minuteMs;
  return formatTime(localMs - (sign === "-" ? -zoneMs : zoneMs), fraction);
}

/** A date in the format of mail and HTTP headers (RFC 1123), which `Date.toUTCString` also writes. */
const mailDatePattern =
  /^(?:[A-Z][a-z]{2}, )?(\d{1,2}) ([A-Z][a-z]{2}) (\d{4}) \d\d:\d\d(?::\d\d)? (?:GMT|UTC|[+-]\d{4})$/;

function normalizeMailDate(text: string): string | undefined {
  const [, day, month, year] = mailDatePattern.exec(text) ?? [];
  const isDay =
    day !== undefined &&
    new Date(Date.parse(`${day} ${month} ${year} 00:00 UTC`)).getUTCDate() === Number(day);
  return isDay ? formatTime(Date.parse(text)) : undefined;
}

/** Formats a time as ISO 8601 in UTC. Returns `undefined` if it is invalid, or its year does not have four digits. */
function formatTime(ms: number, fraction: string = ""): string | undefined {
  const text = Number.isNaN(ms) ? "" : new Date(ms).toISOString();
  if (!/^\d{4}-/.test(text)) {
    return undefined;
  }
  const digits = fraction.slice(0, maxFractionDigits);
  return `${text.slice(0, lengthUpToSecond)}${digits === "" ? "" : `.${digits}`}Z`;
}
