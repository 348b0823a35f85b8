// Texts as JSON: scanned and copied 16 bytes at a time, escaped where JSON.stringify would.
import { goTo, pairShuffles, room, shuffles, sizes, slack, to } from "./memory";

/** JSON bytes of one byte of UTF-8, and of one of UTF-16, at most: `\u00XX`, and `\uXXXX` of a unit of two. */
const escapeGrowth: usize = 6;
const wideGrowth: usize = 3;
/** Bytes of a text handled at once: their worst case fits into the output. */
const textStep: usize = 16_384;

const quote: u8 = 0x22;
const backslash: u8 = 0x5c;

export function byte(unit: u8): void {
  store<u8>(to, unit);
  goTo(to + 1);
}

/** ASCII that needs no escaping; at most {@link slack} bytes. */
export function literal(ascii: string): void {
  room(0);
  const from = changetype<usize>(ascii);
  const size: usize = ascii.length;
  for (let i: usize = 0; i < size; i += 16) {
    const units = v128.load(from + 2 * i);
    v128.store(to + i, i8x16.narrow_i16x8_u(units, v128.load(from + 2 * i, 16)));
  }
  goTo(to + size);
}

/** Bytes as they are, for which there is room. */
export function raw(from: usize, size: usize): void {
  for (let i: usize = 0; i < size; i += 16) {
    v128.store(to + i, v128.load(from + i));
  }
  goTo(to + size);
}

/** The same, any number of them. */
export function rawLong(from: usize, size: usize): void {
  for (let done: usize = 0; done < size; done += textStep) {
    const step = min<usize>(size - done, textStep);
    room(step);
    raw(from + done, step);
  }
  room(0);
}

/** UTF-8 text in quotes. */
export function quoted(from: usize, size: usize): void {
  room(0);
  byte(quote);
  for (let done: usize = 0; done < size; done += textStep) {
    const step = min<usize>(size - done, textStep);
    room(step * escapeGrowth);
    goTo(escaped(from + done, step, to));
  }
  byte(quote);
}

/** UTF-16 text in quotes, in which a surrogate without its partner is escaped. */
export function quotedWide(from: usize, size: usize): void {
  const end = from + size;
  room(0);
  byte(quote);
  for (let at = from; at < end;) {
    const step = min<usize>(end - at, textStep);
    room(step * wideGrowth);
    at = wideStep(at, at + step, end);
  }
  byte(quote);
}

/** Writes UTF-8 text; returns where the next byte goes. */
function escaped(from: usize, size: usize, start: usize): usize {
  const end = from + size;
  let at = from;
  let target = start;
  while (at < end) {
    const bytes = v128.load(at);
    v128.store(target, bytes);
    const left = end - at;
    let found = i8x16.bitmask(toEscape(bytes));
    if (left < 16) {
      found &= (1 << (<i32>left)) - 1;
    }
    if (found === 0) {
      const step = min<usize>(left, 16);
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

function toEscape(bytes: v128): v128 {
  const isQuote = i8x16.eq(bytes, i8x16.splat(quote));
  const isSlash = i8x16.eq(bytes, i8x16.splat(backslash));
  return v128.or(v128.or(isQuote, isSlash), i8x16.lt_u(bytes, i8x16.splat(0x20)));
}

function escapeByte(unit: u32, target: usize): usize {
  const short = shortEscape(unit);
  if (short === 0) {
    return escapeUnit(unit, target);
  }
  store<u8>(target, backslash);
  store<u8>(target + 1, short);
  return target + 2;
}

function shortEscape(unit: u32): u8 {
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

/** Writes units up to `stop`, a pair in one piece; returns where it stopped. */
function wideStep(from: usize, stop: usize, end: usize): usize {
  let at = from;
  let target = to;
  while (at < stop) {
    if (at + 16 <= stop) {
      const units = v128.load(at);
      if (!v128.any_true(isOdd(units))) {
        target = eight(units, target);
        at += 16;
        continue;
      }
    }
    const unit: u32 = load<u16>(at);
    at += 2;
    const next: u32 = at < end ? load<u16>(at) : 0;
    if ((unit & 0xfc00) === 0xd800 && (next & 0xfc00) === 0xdc00) {
      target = pair(0x10000 + ((unit & 0x3ff) << 10) + (next & 0x3ff), target);
      at += 2;
    } else {
      target = one(unit, target);
    }
  }
  goTo(target);
  return at;
}

/** Which of eight units are to be escaped, or surrogates. */
function isOdd(units: v128): v128 {
  const isQuote = i16x8.eq(units, i16x8.splat(quote));
  const isSlash = i16x8.eq(units, i16x8.splat(backslash));
  const isControl = i16x8.lt_u(units, i16x8.splat(0x20));
  const top = v128.and(units, i16x8.splat(<i16>0xf800));
  const isSurrogate = i16x8.eq(top, i16x8.splat(<i16>0xd800));
  return v128.or(v128.or(isQuote, isSlash), v128.or(isControl, isSurrogate));
}

/** Writes eight units none of which is odd. */
function eight(units: v128, target: usize): usize {
  if (!v128.any_true(v128.and(units, i16x8.splat(<i16>0xff80)))) {
    v128.store64_lane(target, i8x16.narrow_i16x8_u(units, units), 0);
    return target + 8;
  }
  if (!v128.any_true(v128.and(units, i16x8.splat(<i16>0xf800)))) {
    return eightOfTwo(units, target);
  }
  const half = four(i32x4.extend_low_i16x8_u(units), target);
  return four(i32x4.extend_high_i16x8_u(units), half);
}

/** Writes eight units below 0x800. */
function eightOfTwo(units: v128, target: usize): usize {
  const isTwo = i16x8.gt_u(units, i16x8.splat(0x7f));
  const lead = v128.or(i16x8.shr_u(units, 6), i16x8.splat(0xc0));
  const trail = v128.or(v128.and(units, i16x8.splat(0x3f)), i16x8.splat(0x80));
  const two = v128.or(lead, i16x8.shl(trail, 8));
  const index: usize = i16x8.bitmask(isTwo);
  const packed = v128.bitselect(two, units, isTwo);
  v128.store(target, i8x16.swizzle(packed, v128.load(pairShuffles + 16 * index)));
  return target + 8 + popcnt<usize>(index);
}

/** Writes four units, none of which is a surrogate. */
function four(units: v128, target: usize): usize {
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

/** Writes one unit; a surrogate escaped, for it has no partner. */
function one(unit: u32, target: usize): usize {
  if (unit < 0x80) {
    if (unit < 0x20 || unit === quote || unit === backslash) {
      return escapeByte(unit, target);
    }
    store<u8>(target, <u8>unit);
    return target + 1;
  }
  if (unit < 0x800) {
    store<u16>(target, <u16>(0xc0 | (unit >> 6) | (trailOf(unit) << 8)));
    return target + 2;
  }
  if ((unit & 0xf800) === 0xd800) {
    return escapeUnit(unit, target);
  }
  store<u32>(target, 0xe0 | (unit >> 12) | (trailOf(unit >> 6) << 8) | (trailOf(unit) << 16));
  return target + 3;
}

function pair(point: u32, target: usize): usize {
  const head = 0xf0 | (point >> 18) | (trailOf(point >> 12) << 8);
  store<u32>(target, head | (trailOf(point >> 6) << 16) | (trailOf(point) << 24));
  return target + 4;
}

function trailOf(bits: u32): u32 {
  return 0x80 | (bits & 0x3f);
}
