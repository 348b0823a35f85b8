/** The byte of the character `"`. */
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
  const backslashDiff = word ^ 0x5c5c5c5c;
  return ((low - 0x21212121) & ~low) | ((backslashDiff - 0x01010101) & ~backslashDiff);
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
  let sourceOffset = start;
  let targetOffset = offset;
  for (; sourceOffset + float64Bytes <= end; sourceOffset += float64Bytes) {
    const first = source.getInt32(sourceOffset, true);
    const second = source.getInt32(sourceOffset + wordBytes, true);
    if (((markEscaped(first) | markEscaped(second)) & escapedBits) === 0) {
      out.setFloat64(targetOffset, source.getFloat64(sourceOffset, true), true);
      targetOffset += float64Bytes;
    } else {
      for (let i = sourceOffset; i < sourceOffset + float64Bytes; i++) {
        targetOffset = escapeByte(out, targetOffset, source.getUint8(i));
      }
    }
  }
  if (sourceOffset + wordBytes <= end) {
    const word = source.getInt32(sourceOffset, true);
    if ((markEscaped(word) & escapedBits) === 0) {
      out.setInt32(targetOffset, word, true);
      sourceOffset += wordBytes;
      targetOffset += wordBytes;
    }
  }
  for (; sourceOffset < end; sourceOffset++) {
    targetOffset = escapeByte(out, targetOffset, source.getUint8(sourceOffset));
  }
  return targetOffset;
}

/**
 * Writes one byte of text, escaped where JSON.stringify would escape it, and returns the position
 * after it.
 */
export function escapeByte(out: DataView, offset: number, byte: number): number {
  if (!needsEscape(byte)) {
    out.setUint8(offset, byte);
    return offset + 1;
  }
  out.setUint8(offset, backslash);
  const shortEscape = shortEscapes[byte];
  if (shortEscape !== undefined) {
    out.setUint8(offset + 1, shortEscape);
    return offset + 2;
  }
  // Write the characters `u00`.
  out.setUint8(offset + 1, 0x75);
  out.setUint16(offset + 2, 0x3030);
  out.setUint8(offset + 4, hexDigits.charCodeAt(byte >> 4));
  out.setUint8(offset + 5, hexDigits.charCodeAt(byte & 15));
  return offset + 6;
}

const shortEscapes: readonly (number | undefined)[] = Object.assign(
  Array.from({ length: 128 }, () => undefined),
  { 8: 0x62, 9: 0x74, 10: 0x6e, 12: 0x66, 13: 0x72, [quote]: quote, [backslash]: backslash },
);

/** Writes a UTF-16 code unit as `\uXXXX` and returns the position after it. */
export function escapeUnit(out: Buffer, offset: number, unit: number): number {
  out[offset] = backslash;
  out[offset + 1] = 0x75;
  for (let digit = 0; digit < 4; digit++) {
    out[offset + 2 + digit] = hexDigits.charCodeAt((unit >> (12 - 4 * digit)) & 15);
  }
  return offset + 6;
}

/** Whether a UTF-16 code unit is the first one of a surrogate pair. */
export const isHighSurrogate = (unit: number): boolean => (unit & 0xfc00) === 0xd800;
/** Whether a UTF-16 code unit is the second one of a surrogate pair. */
export const isLowSurrogate = (unit: number): boolean => (unit & 0xfc00) === 0xdc00;

/** Writes a surrogate pair as UTF-8 and returns the position after it. */
export function writeSurrogatePair(
  out: Buffer,
  offset: number,
  { high, low }: { readonly high: number; readonly low: number },
): number {
  const codePoint = 0x10000 + ((high & 0x3ff) << 10) + (low & 0x3ff);
  out[offset] = 0xf0 | (codePoint >> 18);
  out[offset + 1] = 0x80 | ((codePoint >> 12) & 0x3f);
  out[offset + 2] = 0x80 | ((codePoint >> 6) & 0x3f);
  out[offset + 3] = 0x80 | (codePoint & 0x3f);
  return offset + 4;
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
