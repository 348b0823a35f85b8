// Writes texts as JSON. They are scanned and copied 16 bytes at a time, and escaped where
// JSON.stringify escapes them.
import {
  setPosition,
  pairShuffles,
  ensureCapacity,
  shuffles,
  sizes,
  slack,
  position,
} from "./memory";

/**
 * Maximum number of JSON bytes for one byte of UTF-8, `\u00XX`, and for one byte of UTF-16,
 * `\uXXXX` for a code unit of two bytes.
 */
const escapeGrowth: usize = 6;
const wideGrowth: usize = 3;
/** Bytes of a text that are processed in one step. Their worst case fits into the output. */
const textStep: usize = 16_384;

const quote: u8 = 0x22;
const backslash: u8 = 0x5c;

export function writeByte(unit: u8): void {
  store<u8>(position, unit);
  setPosition(position + 1);
}

/** Writes ASCII that needs no escaping, at most {@link slack} bytes. */
export function writeLiteral(ascii: string): void {
  ensureCapacity(0);
  const from = changetype<usize>(ascii);
  const size: usize = ascii.length;
  for (let i: usize = 0; i < size; i += 16) {
    const units = v128.load(from + 2 * i);
    v128.store(position + i, i8x16.narrow_i16x8_u(units, v128.load(from + 2 * i, 16)));
  }
  setPosition(position + size);
}

/** Copies bytes unchanged. There must be enough space. */
export function copyBytes(from: usize, size: usize): void {
  for (let i: usize = 0; i < size; i += 16) {
    v128.store(position + i, v128.load(from + i));
  }
  setPosition(position + size);
}

/** Writes any number of bytes without escaping. */
export function writeUnescaped(from: usize, size: usize): void {
  for (let done: usize = 0; done < size; done += textStep) {
    const step = min<usize>(size - done, textStep);
    ensureCapacity(step);
    copyBytes(from + done, step);
  }
  ensureCapacity(0);
}

/** Writes UTF-8 text in quotes. */
export function writeQuoted(from: usize, size: usize): void {
  ensureCapacity(0);
  writeByte(quote);
  for (let done: usize = 0; done < size; done += textStep) {
    const step = min<usize>(size - done, textStep);
    ensureCapacity(step * escapeGrowth);
    setPosition(writeEscaped(from + done, step, position));
  }
  writeByte(quote);
}

/** Longest UTF-8 text that {@link writeShortText} writes, in bytes. */
export const shortTextLimit: usize = 16;

/**
 * Writes a short UTF-8 text in quotes, in one step. Returns false, and writes nothing, if a byte of it must be escaped.
 * There must be enough space.
 */
export function writeShortText(from: usize, size: usize): bool {
  const bytes = v128.load(from);
  const isInside = (1 << (<i32>size)) - 1;
  if ((i8x16.bitmask(markEscaped(bytes)) & isInside) !== 0) {
    return false;
  }
  store<u8>(position, quote);
  v128.store(position + 1, bytes);
  store<u8>(position + 1 + size, quote);
  setPosition(position + size + 2);
  return true;
}

/** Writes UTF-16 text in quotes. Lone surrogates are escaped. */
export function writeQuotedWide(from: usize, size: usize): void {
  const end = from + size;
  ensureCapacity(0);
  writeByte(quote);
  for (let at = from; at < end;) {
    const step = min<usize>(end - at, textStep);
    ensureCapacity(step * wideGrowth);
    at = writeWideStep(at, at + step, end);
  }
  writeByte(quote);
}

/** Writes UTF-8 text with escapes and returns the address after it. */
function writeEscaped(from: usize, size: usize, start: usize): usize {
  const end = from + size;
  let at = from;
  let target = start;
  while (at < end) {
    const bytes = v128.load(at);
    v128.store(target, bytes);
    const remaining = end - at;
    let found = i8x16.bitmask(markEscaped(bytes));
    if (remaining < 16) {
      found &= (1 << (<i32>remaining)) - 1;
    }
    if (found === 0) {
      const step = min<usize>(remaining, 16);
      at += step;
      target += step;
    } else {
      const plain: usize = ctz<i32>(found);
      target = escapeByte(load<u8>(at + plain), target + plain);
      at += plain + 1;
    }
  }
  return target;
}

/** Marks the bytes that must be escaped. */
function markEscaped(bytes: v128): v128 {
  const isQuote = i8x16.eq(bytes, i8x16.splat(quote));
  const isSlash = i8x16.eq(bytes, i8x16.splat(backslash));
  return v128.or(v128.or(isQuote, isSlash), i8x16.lt_u(bytes, i8x16.splat(0x20)));
}

function escapeByte(unit: u32, target: usize): usize {
  const short = findShortEscape(unit);
  if (short === 0) {
    return escapeUnit(unit, target);
  }
  store<u8>(target, backslash);
  store<u8>(target + 1, short);
  return target + 2;
}

function findShortEscape(unit: u32): u8 {
  switch (unit) {
    case 8:
      return 0x62;
    case 9:
      return 0x74;
    case 10:
      return 0x6e;
    case 12:
      return 0x66;
    case 13:
      return 0x72;
    case quote:
      return quote;
    case backslash:
      return backslash;
    default:
      return 0;
  }
}

function escapeUnit(unit: u32, target: usize): usize {
  store<u8>(target, backslash);
  store<u8>(target + 1, 0x75);
  for (let digit: u32 = 0; digit < 4; digit++) {
    const value = (unit >> (12 - 4 * digit)) & 15;
    store<u8>(target + 2 + digit, <u8>(value < 10 ? 0x30 + value : 0x57 + value));
  }
  return target + 6;
}

/** Writes code units up to `stop` without splitting a surrogate pair. Returns where it stopped. */
function writeWideStep(from: usize, stop: usize, end: usize): usize {
  let at = from;
  let target = position;
  while (at < stop) {
    if (at + 16 <= stop) {
      const units = v128.load(at);
      if (!v128.any_true(markSpecialUnits(units))) {
        target = writeEight(units, target);
        at += 16;
        continue;
      }
    }
    const unit: u32 = load<u16>(at);
    at += 2;
    const next: u32 = at < end ? load<u16>(at) : 0;
    if ((unit & 0xfc00) === 0xd800 && (next & 0xfc00) === 0xdc00) {
      target = writePair(0x10000 + ((unit & 0x3ff) << 10) + (next & 0x3ff), target);
      at += 2;
    } else {
      target = writeOne(unit, target);
    }
  }
  setPosition(target);
  return at;
}

/** Marks which of eight code units are surrogates or must be escaped. */
function markSpecialUnits(units: v128): v128 {
  const isQuote = i16x8.eq(units, i16x8.splat(quote));
  const isSlash = i16x8.eq(units, i16x8.splat(backslash));
  const isControl = i16x8.lt_u(units, i16x8.splat(0x20));
  const top = v128.and(units, i16x8.splat(<i16>0xf800));
  const isSurrogate = i16x8.eq(top, i16x8.splat(<i16>0xd800));
  return v128.or(v128.or(isQuote, isSlash), v128.or(isControl, isSurrogate));
}

/** Writes eight code units, none of which is a surrogate or must be escaped. */
function writeEight(units: v128, target: usize): usize {
  if (!v128.any_true(v128.and(units, i16x8.splat(<i16>0xff80)))) {
    v128.store64_lane(target, i8x16.narrow_i16x8_u(units, units), 0);
    return target + 8;
  }
  if (!v128.any_true(v128.and(units, i16x8.splat(<i16>0xf800)))) {
    return writeEightBelow0x800(units, target);
  }
  const half = writeFour(i32x4.extend_low_i16x8_u(units), target);
  return writeFour(i32x4.extend_high_i16x8_u(units), half);
}

/** Writes eight code units below 0x800, which have one or two bytes in UTF-8. */
function writeEightBelow0x800(units: v128, target: usize): usize {
  const isTwo = i16x8.gt_u(units, i16x8.splat(0x7f));
  const lead = v128.or(i16x8.shr_u(units, 6), i16x8.splat(0xc0));
  const trail = v128.or(v128.and(units, i16x8.splat(0x3f)), i16x8.splat(0x80));
  const two = v128.or(lead, i16x8.shl(trail, 8));
  const index: usize = i16x8.bitmask(isTwo);
  const packed = v128.bitselect(two, units, isTwo);
  v128.store(target, i8x16.swizzle(packed, v128.load(pairShuffles + 16 * index)));
  return target + 8 + popcnt<usize>(index);
}

/** Writes four code units, none of which is a surrogate. */
function writeFour(units: v128, target: usize): usize {
  const isTwo = i32x4.gt_s(units, i32x4.splat(0x7f));
  const isThree = i32x4.gt_s(units, i32x4.splat(0x7ff));
  const sixBits = i32x4.splat(0x3f);
  const trailing = i32x4.splat(0x80);
  const last = v128.or(v128.and(units, sixBits), trailing);
  const above = i32x4.shr_u(units, 6);
  const two = v128.or(v128.or(above, i32x4.splat(0xc0)), i32x4.shl(last, 8));
  const middle = v128.or(v128.and(above, sixBits), trailing);
  const lead = v128.or(i32x4.shr_u(units, 12), i32x4.splat(0xe0));
  const three = v128.or(v128.or(lead, i32x4.shl(middle, 8)), i32x4.shl(last, 16));
  const packed = v128.bitselect(three, v128.bitselect(two, units, isTwo), isThree);
  const index: usize = i32x4.bitmask(isTwo) | (i32x4.bitmask(isThree) << 4);
  v128.store(target, i8x16.swizzle(packed, v128.load(shuffles + 16 * index)));
  return target + load<u8>(sizes + index);
}

/** Writes one code unit. A surrogate is escaped, because it has no partner. */
function writeOne(unit: u32, target: usize): usize {
  if (unit < 0x80) {
    if (unit < 0x20 || unit === quote || unit === backslash) {
      return escapeByte(unit, target);
    }
    store<u8>(target, <u8>unit);
    return target + 1;
  }
  if (unit < 0x800) {
    store<u16>(target, <u16>(0xc0 | (unit >> 6) | (continuationByte(unit) << 8)));
    return target + 2;
  }
  if ((unit & 0xf800) === 0xd800) {
    return escapeUnit(unit, target);
  }
  store<u32>(
    target,
    0xe0 | (unit >> 12) | (continuationByte(unit >> 6) << 8) | (continuationByte(unit) << 16),
  );
  return target + 3;
}

function writePair(point: u32, target: usize): usize {
  const head = 0xf0 | (point >> 18) | (continuationByte(point >> 12) << 8);
  store<u32>(target, head | (continuationByte(point >> 6) << 16) | (continuationByte(point) << 24));
  return target + 4;
}

function continuationByte(bits: u32): u32 {
  return 0x80 | (bits & 0x3f);
}
