// Writes tagged values of a tape as JSON. src/model/records/tape-format.ts describes their format.
import { longestShortText, tag } from "./layout";
import { flushAll, ensureCapacity } from "./memory";
import { writeDigits, writeNumber } from "./number";
import {
  shortTextLimit,
  writeByte,
  writeLiteral,
  writeQuoted,
  writeQuotedWide,
  writeShortText,
} from "./text";

/**
 * Appends the binary value at `at` to the output, outside this module. Returns the address after
 * the value.
 */
declare function binary(at: usize): usize;
/** Throws an error: there is no value at `at`. */
declare function noValue(at: usize): void;

/** Writes the value at `at` and returns the address of the next value. */
export function writeValue(at: usize): usize {
  const tagByte: u32 = load<u8>(at);
  ensureCapacity(0);
  if (tagByte >= tag.shortText) {
    return shortText(at + 1, tagByte & longestShortText);
  }
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
      writeNumber(load<f64>(at + 1));
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

/** Writes a text of at most {@link longestShortText} bytes and returns the address after it. */
function shortText(at: usize, size: usize): usize {
  if (size > shortTextLimit || !writeShortText(at, size)) {
    writeQuoted(at, size);
  }
  return at + size;
}

function object(start: usize): usize {
  let at = start;
  writeByte(0x7b);
  while (load<u8>(at) !== tag.end) {
    ensureCapacity(0);
    if (at !== start) {
      writeByte(0x2c);
    }
    const keyTag: u32 = load<u8>(at);
    if (keyTag >= tag.shortText) {
      at = shortText(at + 1, keyTag & longestShortText);
    } else {
      at = writeValue(at);
    }
    // A key of any length leaves space for it.
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
