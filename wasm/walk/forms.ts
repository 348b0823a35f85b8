// Recognizes the common formats of ids, dotted orders and times. Other formats may be valid too,
// and are left to the TypeScript parser.
import { stampLength, uuidLength } from "./layout";

const zero: u32 = 0x30;
const dash: u8 = 0x2d;
const dot: u32 = 0x2e;
const colon: u32 = 0x3a;
const tee: u32 = 0x54;
const zulu: u32 = 0x5a;
const microsPerSecond: f64 = 1_000_000;
/** Length of a timestamp and of an ISO 8601 time up to the seconds. */
const stampSecond: usize = 15;
const timeSecond: usize = 19;
/** `2026-11-21T10:11:12.345678Z`. */
export const timeLength: usize = 27;

/** Last supported year: later times in microseconds are not exact integers in a float64. */
const lastYear: i32 = 2_254;

/**
 * Cache of the last parsed second of each format: its address, and its value in seconds since the
 * Unix epoch.
 */
let stampAt: usize = 0;
let stampSeconds: f64 = 0;
let timeAt: usize = 0;
let timeSeconds: f64 = 0;
/** Whether a parsed character was not a digit, or a value was out of range. */
let isWrong: bool = false;

/** Resets the cache for a new body. */
export function resetSeconds(): void {
  stampAt = 0;
  timeAt = 0;
}

/** Whether there is a lower-case UUID at `at`. */
export function isUuid(at: usize): bool {
  return (
    hasGroups(v128.load(at), 0x2100) &&
    hasGroups(v128.load(at + 16), 0x0084) &&
    hasGroups(v128.load(at + 20), 0x0008)
  );
}

/** Whether 16 bytes are dashes at the positions of set bits, and hexadecimal digits elsewhere. */
function hasGroups(bytes: v128, dashes: i32): bool {
  const digit = i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(0x30)), i8x16.splat(10));
  const letter = i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(0x61)), i8x16.splat(6));
  return (
    i8x16.bitmask(i8x16.eq(bytes, i8x16.splat(dash))) === dashes &&
    i8x16.bitmask(v128.or(digit, letter)) === (~dashes & 0xffff)
  );
}

/** Whether the `size` bytes at `at` are timestamps and UUIDs in turn, joined by dots. */
export function isDottedOrder(at: usize, size: usize): bool {
  const step: usize = stampLength + uuidLength + 1;
  if ((size + 1) % step !== 0) {
    return false;
  }
  for (let from: usize = 0; from < size; from += step) {
    const uuid = at + from + stampLength;
    if (isNaN(stampMicros(at + from)) || !isUuid(uuid)) {
      return false;
    }
    if (from + step < size && load<u8>(uuid + uuidLength) !== dot) {
      return false;
    }
  }
  return true;
}

/** Parses the timestamp at `at` to microseconds since the Unix epoch; NaN if it is not valid. */
export function stampMicros(at: usize): f64 {
  const isCached =
    stampAt !== 0 &&
    load<u64>(at) === load<u64>(stampAt) &&
    load<u64>(at + stampSecond - 8) === load<u64>(stampAt + stampSecond - 8);
  if (!isCached) {
    isWrong = load<u8>(at + 8) !== tee;
    const day = daysSinceEpoch(parseFour(at), parseTwo(at + 4), parseTwo(at + 6));
    const seconds = secondsSinceEpoch(day, parseTwo(at + 9), parseTwo(at + 11), parseTwo(at + 13));
    if (isWrong) {
      return NaN;
    }
    stampAt = at;
    stampSeconds = seconds;
  }
  return toMicros(stampSeconds, at + stampSecond);
}

/** Parses the ISO 8601 time at `at` in its common format, in the same way. */
export function timeMicros(at: usize): f64 {
  const isCached =
    timeAt !== 0 &&
    load<u64>(at) === load<u64>(timeAt) &&
    load<u64>(at + 8) === load<u64>(timeAt + 8) &&
    load<u32>(at + timeSecond - 4) === load<u32>(timeAt + timeSecond - 4);
  if (!isCached) {
    isWrong =
      load<u8>(at + 4) !== dash ||
      load<u8>(at + 7) !== dash ||
      load<u8>(at + 10) !== tee ||
      load<u8>(at + 13) !== colon ||
      load<u8>(at + 16) !== colon;
    const day = daysSinceEpoch(parseFour(at), parseTwo(at + 5), parseTwo(at + 8));
    const seconds = secondsSinceEpoch(day, parseTwo(at + 11), parseTwo(at + 14), parseTwo(at + 17));
    if (isWrong) {
      return NaN;
    }
    timeAt = at;
    timeSeconds = seconds;
  }
  return load<u8>(at + timeSecond) === dot ? toMicros(timeSeconds, at + timeSecond + 1) : NaN;
}

/** Adds the six digits after a second, which `Z` must follow, and returns microseconds. */
function toMicros(seconds: f64, at: usize): f64 {
  isWrong = load<u8>(at + 6) !== zulu;
  const micros = (parseTwo(at) * 100 + parseTwo(at + 2)) * 100 + parseTwo(at + 4);
  return isWrong ? NaN : seconds * microsPerSecond + <f64>micros;
}

function parseFour(at: usize): i32 {
  return parseTwo(at) * 100 + parseTwo(at + 2);
}

function parseTwo(at: usize): i32 {
  const tens: u32 = <u32>load<u8>(at) - zero;
  const ones: u32 = <u32>load<u8>(at + 1) - zero;
  isWrong = isWrong || tens > 9 || ones > 9;
  return <i32>(10 * tens + ones);
}

/** Days since the Unix epoch. */
function daysSinceEpoch(year: i32, month: i32, day: i32): i32 {
  if (
    isWrong ||
    year < 1970 ||
    year > lastYear ||
    month < 1 ||
    month > 12 ||
    day < 1 ||
    day > daysInMonth(year, month)
  ) {
    isWrong = true;
    return 0;
  }
  // If years begin in March, the leap day is at their end.
  const shifted = month < 3 ? year - 1 : year;
  const dayOfYear = (153 * (month < 3 ? month + 9 : month - 3) + 2) / 5 + day - 1;
  return 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468;
}

function daysInMonth(year: i32, month: i32): i32 {
  if (month === 2) {
    return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  }
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

function secondsSinceEpoch(days: i32, hour: i32, minute: i32, second: i32): f64 {
  isWrong = isWrong || hour > 23 || minute > 59 || second > 59;
  return 86_400 * <f64>days + <f64>(3_600 * hour + 60 * minute + second);
}
