export const quote = 0x22;
const backslash = 0x5c;
const hexDigits = "0123456789abcdef";

/** The bits of the result of {@link markEscaped} that matter. */
const escapedBits = 0x80808080;

/**
 * Finds the bytes that must be escaped among four bytes: those below 0x20, quotes and backslashes.
 * Sets the top bit of such a byte; the other bits have no meaning. Flipping bit 1 turns the first
 * two conditions into one test: "below 0x21".
 */
function markEscaped(word: number): number {
  const low = word ^ 0x02020202;
  const slash = word ^ 0x5c5c5c5c;
  return ((low - 0x21212121) & ~low) | ((slash - 0x01010101) & ~slash);
}

/** Whether JSON.stringify escapes a byte of UTF-8 text. */
function needsEscape(byte: number): boolean {
  return byte < 0x20 || byte === quote || byte === backslash;
}

const wordBytes = 4;
const float64Bytes = 8;

/**
 * Writes UTF-8 text, escaped where JSON.stringify would escape it, and returns the position after
 * it. Copies eight bytes at a time, like `copyText`, unless one of them must be escaped.
 */
// oxlint-disable-next-line max-params -- called for each text; an object would create garbage
export function escapeText(
  source: DataView,
  start: number,
  end: number,
  out: DataView,
  offset: number,
): number {
  let from = start;
  let to = offset;
  for (; from + float64Bytes <= end; from += float64Bytes) {
    const first = source.getInt32(from, true);
    const second = source.getInt32(from + wordBytes, true);
    if (((markEscaped(first) | markEscaped(second)) & escapedBits) === 0) {
      out.setFloat64(to, source.getFloat64(from, true), true);
      to += float64Bytes;
    } else {
      for (let i = from; i < from + float64Bytes; i++) {
        to = escapeByte(out, to, source.getUint8(i));
      }
    }
  }
  if (from + wordBytes <= end) {
    const word = source.getInt32(from, true);
    if ((markEscaped(word) & escapedBits) === 0) {
      out.setInt32(to, word, true);
      from += wordBytes;
      to += wordBytes;
    }
  }
  for (; from < end; from++) {
    to = escapeByte(out, to, source.getUint8(from));
  }
  return to;
}

/**
 * Writes one byte of text, escaped where JSON.stringify would escape it, and returns the position
 * after it.
 */
export function escapeByte(out: DataView, to: number, byte: number): number {
  if (!needsEscape(byte)) {
    out.setUint8(to, byte);
    return to + 1;
  }
  out.setUint8(to, backslash);
  const shortEscape = shortEscapes[byte];
  if (shortEscape !== undefined) {
    out.setUint8(to + 1, shortEscape);
    return to + 2;
  }
  // Write the characters `u00`.
  out.setUint8(to + 1, 0x75);
  out.setUint16(to + 2, 0x3030);
  out.setUint8(to + 4, hexDigits.charCodeAt(byte >> 4));
  out.setUint8(to + 5, hexDigits.charCodeAt(byte & 15));
  return to + 6;
}

const shortEscapes: readonly (number | undefined)[] = Object.assign(
  Array.from({ length: 128 }, () => undefined),
  { 8: 0x62, 9: 0x74, 10: 0x6e, 12: 0x66, 13: 0x72, [quote]: quote, [backslash]: backslash },
);

/** Writes a UTF-16 code unit as `\uXXXX` and returns the position after it. */
export function escapeUnit(out: Buffer, to: number, unit: number): number {
  out[to] = backslash;
  out[to + 1] = 0x75;
  for (let digit = 0; digit < 4; digit++) {
    out[to + 2 + digit] = hexDigits.charCodeAt((unit >> (12 - 4 * digit)) & 15);
  }
  return to + 6;
}

export const isHighSurrogate = (unit: number): boolean => (unit & 0xfc00) === 0xd800;
export const isLowSurrogate = (unit: number): boolean => (unit & 0xfc00) === 0xdc00;

/** Writes a surrogate pair as UTF-8 and returns the position after it. */
export function writeSurrogatePair(
  out: Buffer,
  to: number,
  { high, low }: { readonly high: number; readonly low: number },
): number {
  const codePoint = 0x10000 + ((high & 0x3ff) << 10) + (low & 0x3ff);
  out[to] = 0xf0 | (codePoint >> 18);
  out[to + 1] = 0x80 | ((codePoint >> 12) & 0x3f);
  out[to + 2] = 0x80 | ((codePoint >> 6) & 0x3f);
  out[to + 3] = 0x80 | (codePoint & 0x3f);
  return to + 4;
}

/**
 * Indexed by UTF-16 code unit: the unit's bytes in UTF-8, the first one in the lowest bits, and
 * their number in the top byte. 0 for surrogates and for units that must be escaped. A table has no
 * branches, which the processor would mispredict on text of mixed scripts.
 */
export const packedUtf8ByUnit: Int32Array = Int32Array.from({ length: 0x10000 }, (_, unit) => {
  if (unit < 0x80) {
    return needsEscape(unit) ? 0 : unit | (1 << 24);
  }
  if (unit < 0x800) {
    return 0xc0 | (unit >> 6) | ((0x80 | (unit & 0x3f)) << 8) | (2 << 24);
  }
  if (isHighSurrogate(unit) || isLowSurrogate(unit)) {
    return 0;
  }
  const [first, second, third] = [
    0xe0 | (unit >> 12),
    0x80 | ((unit >> 6) & 0x3f),
    0x80 | (unit & 0x3f),
  ];
  return first | (second << 8) | (third << 16) | (3 << 24);
});
