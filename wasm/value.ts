// Writes tagged values of a tape as JSON. src/model/records/tape-format.ts describes their format.
import { longestShortText, tag } from "./layout";
import { flushAll, setPosition, ensureCapacity, position } from "./memory";
import { writeByte, writeLiteral, writeQuoted, writeQuotedWide } from "./text";

/** Writes a number to the address `at` and returns the address after it. */
declare function double(value: f64, at: usize): usize;
/**
 * Appends the binary value at `at` to the output, outside this module. Returns the address after
 * the value.
 */
declare function binary(at: usize): usize;
/** Throws an error: there is no value at `at`. */
declare function noValue(at: usize): void;

/** Below this limit, numbers with different digits are always different float64 values. */
const exactDigitsLimit: f64 = 1e15;
const maxDecimals: usize = 6;

/** Writes the value at `at` and returns the address of the next value. */
export function writeValue(at: usize): usize {
  const tagByte: u32 = load<u8>(at);
  if (tagByte >= tag.shortText) {
    const size: usize = tagByte & longestShortText;
    writeQuoted(at + 1, size);
    return at + 1 + size;
  }
  ensureCapacity(0);
  switch (tagByte) {
    case tag.text: {
      const size: usize = load<u32>(at + 1);
      writeQuoted(at + 5, size);
      return at + 5 + size;
    }
    case tag.wideText: {
      const size: usize = load<u32>(at + 1);
      writeQuotedWide(at + 5, size);
      return at + 5 + size;
    }
    case tag.int: {
      const number: i64 = load<i32>(at + 1);
      if (number < 0) {
        writeByte(0x2d);
      }
      writeDigits(<u64>abs<i64>(number));
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
      writeLiteral("true");
      return at + 1;
    case tag.false_:
      writeLiteral("false");
      return at + 1;
    case tag.null_:
      writeLiteral("null");
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
  writeByte(0x7b);
  while (load<u8>(at) !== tag.end) {
    ensureCapacity(0);
    if (at !== start) {
      writeByte(0x2c);
    }
    at = writeValue(at);
    ensureCapacity(0);
    writeByte(0x3a);
    at = writeValue(at);
  }
  ensureCapacity(0);
  writeByte(0x7d);
  return at + 1;
}

function array(start: usize): usize {
  let at = start;
  writeByte(0x5b);
  while (load<u8>(at) !== tag.end) {
    ensureCapacity(0);
    if (at !== start) {
      writeByte(0x2c);
    }
    at = writeValue(at);
  }
  ensureCapacity(0);
  writeByte(0x5d);
  return at + 1;
}

/**
 * Writes a number. The digits of a number with few decimals can be computed exactly here;
 * JavaScript formats all others.
 */
function number(value: f64): void {
  const size = abs<f64>(value);
  let scale: f64 = 1;
  for (let decimals: usize = 0; decimals <= maxDecimals; decimals++) {
    const scaled = nearest<f64>(size * scale);
    if (scaled >= exactDigitsLimit) {
      break;
    }
    if (scaled / scale === size) {
      if (value < 0) {
        writeByte(0x2d);
      }
      const whole = <u64>scaled;
      const unit = <u64>scale;
      writeDigits(whole / unit);
      if (decimals > 0) {
        writeByte(0x2e);
        setPosition(position + decimals);
        writeDigitsBefore(position, whole % unit, decimals);
      }
      return;
    }
    scale *= 10;
  }
  setPosition(double(value, position));
}

/** Writes the last `count` decimal digits of an integer before `end`. */
export function writeDigitsBefore(end: usize, value: u64, count: usize): void {
  let remaining = value;
  for (let at = end - 1; at >= end - count; at--) {
    const tenth = remaining / 10;
    store<u8>(at, <u8>(0x30 + remaining - tenth * 10));
    remaining = tenth;
  }
}

function writeDigits(value: u64): void {
  let count: usize = 1;
  for (let limit: u64 = 10; limit <= value; limit *= 10) {
    count += 1;
  }
  setPosition(position + count);
  writeDigitsBefore(position, value, count);
}
