// Tagged values of a tape as JSON (src/model/records/tape-format.ts says what their bytes mean).
import { longestShortText, tag } from "./layout";
import { flushAll, goTo, room, to } from "./memory";
import { byte, literal, quoted, quotedWide } from "./text";

/** Writes a number's digits to `at`; returns where they end. */
declare function double(value: f64, at: usize): usize;
/** Has the binary value at `at` written behind all that was; returns where it ends. */
declare function binary(at: usize): usize;
/** Throws: there is no value at `at`. */
declare function noValue(at: usize): void;

/** Numbers of up to so many digits are different numbers. */
const surelyDifferent: f64 = 1e15;
const mostDecimals: usize = 6;

/** Writes the value at `at`; returns where the one behind it begins. */
export function value(at: usize): usize {
  const kind: u32 = load<u8>(at);
  if (kind >= tag.shortText) {
    const size: usize = kind & longestShortText;
    quoted(at + 1, size);
    return at + 1 + size;
  }
  room(0);
  switch (kind) {
    case tag.text: {
      const size: usize = load<u32>(at + 1);
      quoted(at + 5, size);
      return at + 5 + size;
    }
    case tag.wideText: {
      const size: usize = load<u32>(at + 1);
      quotedWide(at + 5, size);
      return at + 5 + size;
    }
    case tag.int: {
      const number: i64 = load<i32>(at + 1);
      if (number < 0) {
        byte(0x2d);
      }
      digits(<u64>abs<i64>(number));
      return at + 5;
    }
    case tag.double:
      number(load<f64>(at + 1));
      return at + 9;
    case tag.object:
      return object(at + 1);
    case tag.array:
      return array(at + 1);
    case tag.true_:
      literal("true");
      return at + 1;
    case tag.false_:
      literal("false");
      return at + 1;
    case tag.null_:
      literal("null");
      return at + 1;
    case tag.bytes:
      flushAll();
      return binary(at);
    default:
      noValue(at);
      return at;
  }
}

function object(start: usize): usize {
  let at = start;
  byte(0x7b);
  while (load<u8>(at) !== tag.end) {
    room(0);
    if (at !== start) {
      byte(0x2c);
    }
    at = value(at);
    room(0);
    byte(0x3a);
    at = value(at);
  }
  room(0);
  byte(0x7d);
  return at + 1;
}

function array(start: usize): usize {
  let at = start;
  byte(0x5b);
  while (load<u8>(at) !== tag.end) {
    room(0);
    if (at !== start) {
      byte(0x2c);
    }
    at = value(at);
  }
  room(0);
  byte(0x5d);
  return at + 1;
}

/** Of a number that has few decimals its digits are certain; others are JavaScript's work. */
function number(value: f64): void {
  const size = abs<f64>(value);
  let scale: f64 = 1;
  for (let decimals: usize = 0; decimals <= mostDecimals; decimals++) {
    const scaled = nearest<f64>(size * scale);
    if (scaled >= surelyDifferent) {
      break;
    }
    if (scaled / scale === size) {
      if (value < 0) {
        byte(0x2d);
      }
      const whole = <u64>scaled;
      const unit = <u64>scale;
      digits(whole / unit);
      if (decimals > 0) {
        byte(0x2e);
        goTo(to + decimals);
        digitsBefore(to, whole % unit, decimals);
      }
      return;
    }
    scale *= 10;
  }
  goTo(double(value, to));
}

/** Puts the last `count` digits of a whole number before `end`. */
export function digitsBefore(end: usize, value: u64, count: usize): void {
  let rest = value;
  for (let at = end - 1; at >= end - count; at--) {
    const tenth = rest / 10;
    store<u8>(at, <u8>(0x30 + rest - tenth * 10));
    rest = tenth;
  }
}

function digits(value: u64): void {
  let count: usize = 1;
  for (let limit: u64 = 10; limit <= value; limit *= 10) {
    count += 1;
  }
  goTo(to + count);
  digitsBefore(to, value, count);
}
