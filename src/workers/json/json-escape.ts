export const quote = 0x22;
const backslash = 0x5c;
const hexDigits = "0123456789abcdef";

/** The bits in which {@link findings} are. */
const findingBits = 0x80808080;

/**
 * Finds what is to be escaped among four bytes: below 0x20, a quote or a backslash. Sets the top bit
 * of such a byte; other bits mean nothing. Flipping bit 1 makes the first two one test, "below 0x21".
 */
function findings(word: number): number {
  const low = word ^ 0x02020202;
  const slash = word ^ 0x5c5c5c5c;
  return ((low - 0x21212121) & ~low) | ((slash - 0x01010101) & ~slash);
}

/** Whether JSON.stringify escapes an ASCII character, or other byte of UTF-8. */
function isEscaped(unit: number): boolean {
  return unit < 0x20 || unit === quote || unit === backslash;
}

const wordBytes = 4;
const stepBytes = 8;

/**
 * Writes UTF-8 text, escaped where JSON.stringify would; returns where the next byte goes. Eight bytes
 * at a time, moved as `moveText` does, unless one of them is to be escaped.
 */
// oxlint-disable-next-line max-params -- called for each text; an object would be garbage
export function escapeText(
  source: DataView,
  start: number,
  end: number,
  out: DataView,
  at: number,
): number {
  let from = start;
  let to = at;
  for (; from + stepBytes <= end; from += stepBytes) {
    const first = source.getInt32(from, true);
    const second = source.getInt32(from + wordBytes, true);
    if (((findings(first) | findings(second)) & findingBits) === 0) {
      out.setFloat64(to, source.getFloat64(from, true), true);
      to += stepBytes;
    } else {
      for (let i = from; i < from + stepBytes; i++) {
        to = escapeByte(out, to, source.getUint8(i));
      }
    }
  }
  if (from + wordBytes <= end) {
    const word = source.getInt32(from, true);
    if ((findings(word) & findingBits) === 0) {
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

/** Writes one byte of text, escaped where JSON.stringify would; returns where the next one goes. */
export function escapeByte(out: DataView, to: number, unit: number): number {
  if (!isEscaped(unit)) {
    out.setUint8(to, unit);
    return to + 1;
  }
  out.setUint8(to, backslash);
  const short = shortEscapes[unit];
  if (short !== undefined) {
    out.setUint8(to + 1, short);
    return to + 2;
  }
  // u00
  out.setUint8(to + 1, 0x75);
  out.setUint16(to + 2, 0x3030);
  out.setUint8(to + 4, hexDigits.charCodeAt(unit >> 4));
  out.setUint8(to + 5, hexDigits.charCodeAt(unit & 15));
  return to + 6;
}

const shortEscapes: readonly (number | undefined)[] = Object.assign(
  Array.from({ length: 128 }, () => undefined),
  { 8: 0x62, 9: 0x74, 10: 0x6e, 12: 0x66, 13: 0x72, [quote]: quote, [backslash]: backslash },
);

/** Writes a UTF-16 unit as `\uXXXX`; returns where the next byte goes. */
export function escapeUnit(out: Buffer, to: number, unit: number): number {
  out[to] = backslash;
  out[to + 1] = 0x75;
  for (let digit = 0; digit < 4; digit++) {
    out[to + 2 + digit] = hexDigits.charCodeAt((unit >> (12 - 4 * digit)) & 15);
  }
  return to + 6;
}

export const isLeading = (unit: number): boolean => (unit & 0xfc00) === 0xd800;
export const isTrailing = (unit: number): boolean => (unit & 0xfc00) === 0xdc00;

/** Writes a surrogate pair as UTF-8; returns where the next byte goes. */
export function pairToUtf8(
  out: Buffer,
  to: number,
  { lead, trail }: { readonly lead: number; readonly trail: number },
): number {
  const point = 0x10000 + ((lead & 0x3ff) << 10) + (trail & 0x3ff);
  out[to] = 0xf0 | (point >> 18);
  out[to + 1] = 0x80 | ((point >> 12) & 0x3f);
  out[to + 2] = 0x80 | ((point >> 6) & 0x3f);
  out[to + 3] = 0x80 | (point & 0x3f);
  return to + 4;
}

/**
 * By UTF-16 unit: its bytes in UTF-8, the first lowest, and their count in the top byte; 0 for what
 * is to be escaped and for surrogates. A look-up without branches, which text of mixed scripts makes
 * the processor guess wrong.
 */
export const packedUnits: Int32Array = Int32Array.from({ length: 0x10000 }, (_, unit) => {
  if (unit < 0x80) {
    return isEscaped(unit) ? 0 : unit | (1 << 24);
  }
  if (unit < 0x800) {
    return 0xc0 | (unit >> 6) | ((0x80 | (unit & 0x3f)) << 8) | (2 << 24);
  }
  if (isLeading(unit) || isTrailing(unit)) {
    return 0;
  }
  const [first, second, third] = [
    0xe0 | (unit >> 12),
    0x80 | ((unit >> 6) & 0x3f),
    0x80 | (unit & 0x3f),
  ];
  return first | (second << 8) | (third << 16) | (3 << 24);
});
