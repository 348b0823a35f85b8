// Writes numbers as JSON: with the same digits as JavaScript, which are the fewest that identify the
// float64 value, and of those the closest to it. The method is Raffaello Giulietti's ("The Schubfach
// way to render doubles", 2021): it needs one multiplication by a 128-bit power of ten for the value
// and one for each boundary of the interval of decimals that are read as this value.
import { position, powersOfTen, setPosition } from "./memory";
import { writeByte } from "./text";

/**
 * Writes the powers of ten with exponents from -292 to 324 to the address `at`. Each has 128 bits,
 * the lower half first: the power times 2^n, rounded up, with n such that the highest bit is set.
 */
declare function fillPowers(at: usize): void;

/** From here on, JavaScript writes an exponent. Up to here, a float64 whole number fits in 64 bits or is written with zeros. */
const lowestExponentPoint: i32 = 21;
/** Below this limit, all whole numbers are float64 values, and their digits are those of the integer. */
const exactWholeLimit: f64 = 1e15;
const lowestPower: i32 = -292;
const fractionBits: u64 = 52;
const hiddenBit: u64 = 1 << 52;

/** The powers of ten that fit in 64 bits. */
const limits: usize = memory.data<u64>([
  1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000,
  10_000_000_000, 100_000_000_000, 1_000_000_000_000, 10_000_000_000_000, 100_000_000_000_000,
  1_000_000_000_000_000, 10_000_000_000_000_000, 100_000_000_000_000_000, 1_000_000_000_000_000_000,
  10_000_000_000_000_000_000,
]);

let hasPowers = false;
/** The result of {@link findDigits}: the value is `digits` times ten to the power of `exponent`. */
let digits: u64 = 0;
let exponent: i32 = 0;

/** Writes a finite number. */
export function writeNumber(value: f64): void {
  const size = abs<f64>(value);
  if (value < 0) {
    writeByte(0x2d);
  }
  if (size < exactWholeLimit && floor<f64>(size) === size) {
    writeDigits(<u64>size);
    return;
  }
  if (!hasPowers) {
    fillPowers(powersOfTen);
    hasPowers = true;
  }
  findDigits(reinterpret<u64>(size));
  writeDecimal();
}

/** Writes the digits of an integer. */
export function writeDigits(value: u64): void {
  const count = countDigits(value);
  setPosition(position + count);
  writeDigitsBefore(position, value, count);
}

/** Writes the last `count` decimal digits of an integer before `end`. */
export function writeDigitsBefore(end: usize, value: u64, count: usize): void {
  let remaining = value;
  let at = end;
  const start = end - count;
  // Divisions of 32-bit integers by a constant are multiplications on every engine, others may not be.
  while (remaining > u32.MAX_VALUE) {
    const upper = remaining / 100_000_000;
    writeDigits32(max(at - 8, start), at, <u32>(remaining - upper * 100_000_000));
    at -= 8;
    remaining = upper;
  }
  writeDigits32(start, at, <u32>remaining);
}

/** Writes the last decimal digits of an integer from `start` to `end`. */
function writeDigits32(start: usize, end: usize, value: u32): void {
  let remaining = value;
  for (let at = end; at > start;) {
    const tenth = remaining / 10;
    at -= 1;
    store<u8>(at, <u8>(0x30 + remaining - tenth * 10));
    remaining = tenth;
  }
}

function countDigits(value: u64): usize {
  // 1,233 / 4,096 is just above the logarithm of ten of two. The estimate is the count or one less.
  const estimate = ((64 - <usize>clz(value)) * 1_233) >> 12;
  return max<usize>(estimate + (value >= load<u64>(limits + 8 * estimate) ? 1 : 0), 1);
}

/** Finds the digits and the exponent of a positive float64, given its bits. */
function findDigits(bits: u64): void {
  const fraction = bits & (hiddenBit - 1);
  const biasedExponent = <i32>(bits >> fractionBits);
  const significand = biasedExponent === 0 ? fraction : hiddenBit | fraction;
  const binaryExponent = max(biasedExponent, 1) - 1_075;
  // Below a power of two, float64 values are twice as dense as above it.
  const isDenserBelow = fraction === 0 && biasedExponent > 1;
  // Reading a decimal rounds halfway cases to the even significand, so that the boundaries belong to the interval.
  const excludesBoundaries = significand & 1;

  // Four times the value and the boundaries, so that all are integers.
  const middle = significand << 2;
  const lower = middle - 2 + (isDenserBelow ? 1 : 0);
  const upper = middle + 2;
  // The logarithm of ten of two to the power of `binaryExponent`, or of three quarters of it, rounded down.
  const decimalExponent = (binaryExponent * 1_262_611 - (isDenserBelow ? 524_031 : 0)) >> 22;
  const shift = <u64>(binaryExponent + ((-decimalExponent * 1_741_647) >> 19) + 1);
  const power = powersOfTen + 16 * <usize>(-decimalExponent - lowestPower);
  const low = load<u64>(power);
  const high = load<u64>(power, 8);
  const scaledLower = multiply(low, high, lower << shift) + excludesBoundaries;
  const scaled = multiply(low, high, middle << shift);
  const scaledUpper = multiply(low, high, upper << shift) - excludesBoundaries;

  const whole = scaled >> 2;
  if (whole >= 10) {
    // Try with one digit less.
    const tenth = whole / 10;
    const isTenthInside = scaledLower <= 40 * tenth;
    const isNextTenthInside = 40 * tenth + 40 <= scaledUpper;
    if (isTenthInside !== isNextTenthInside) {
      digits = tenth + (isNextTenthInside ? 1 : 0);
      exponent = decimalExponent + 1;
      return;
    }
  }
  const isWholeInside = scaledLower <= 4 * whole;
  const isNextInside = 4 * whole + 4 <= scaledUpper;
  const half = 4 * whole + 2;
  const isNext =
    isWholeInside !== isNextInside
      ? isNextInside
      : scaled > half || (scaled === half && (whole & 1) === 1);
  digits = whole + (isNext ? 1 : 0);
  exponent = decimalExponent;
}

/**
 * Multiplies a 128-bit and a 64-bit integer. Returns bits 128 to 191 of the product, with the lowest of
 * them set if any bit was lost (more than the error of the power of ten explains).
 */
function multiply(low: u64, high: u64, factor: u64): u64 {
  const lost = multiplyHigh(low, factor);
  const middle = high * factor + lost;
  const carry: u64 = middle < lost ? 1 : 0;
  const product = multiplyHigh(high, factor) + carry;
  return product | (middle > 1 ? 1 : 0);
}

/** Returns the upper 64 bits of a product of two 64-bit integers. */
function multiplyHigh(a: u64, b: u64): u64 {
  const mask: u64 = 0xffff_ffff;
  const aLow = a & mask;
  const aHigh = a >> 32;
  const bLow = b & mask;
  const bHigh = b >> 32;
  const middle = aHigh * bLow + ((aLow * bLow) >> 32);
  return aHigh * bHigh + (middle >> 32) + (((middle & mask) + aLow * bHigh) >> 32);
}

/** Writes {@link digits} and {@link exponent} as JavaScript does. */
function writeDecimal(): void {
  while (digits % 10 === 0) {
    digits /= 10;
    exponent += 1;
  }
  const count = countDigits(digits);
  /** The number of digits before the decimal point, if no exponent is written. */
  const point = <i32>count + exponent;
  if (exponent >= 0 && point <= lowestExponentPoint) {
    writeDigits(digits);
    writeZeros(exponent);
  } else if (point > 0 && point <= lowestExponentPoint) {
    writePointed(count, <usize>point);
  } else if (point > -6 && point <= 0) {
    writeByte(0x30);
    writeByte(0x2e);
    writeZeros(-point);
    writeDigits(digits);
  } else {
    if (count === 1) {
      writeDigits(digits);
    } else {
      writePointed(count, 1);
    }
    writeByte(0x65);
    writeByte(point > 0 ? 0x2b : 0x2d);
    writeDigits(<u64>abs<i32>(point - 1));
  }
}

/** Writes the digits, `count` in number, with a decimal point after the first `point` of them. */
function writePointed(count: usize, point: usize): void {
  const end = position + count + 1;
  const scale = load<u64>(limits + 8 * (count - point));
  const whole = digits / scale;
  writeDigitsBefore(position + point, whole, point);
  store<u8>(position + point, 0x2e);
  writeDigitsBefore(end, digits - whole * scale, count - point);
  setPosition(end);
}

function writeZeros(count: i32): void {
  for (let i = 0; i < count; i++) {
    writeByte(0x30);
  }
}
