export const quote = 0x22;
export const backslash = 0x5c;
export const hexDigits = "0123456789abcdef";

/** The bits in which {@link findings} are. */
export const findingBits = 0x80808080;

/**
 * Finds what is to be escaped among four bytes: below 0x20, a quote or a backslash. Sets the top bit
 * of such a byte; other bits mean nothing. Flipping bit 1 makes the first two one test, "below 0x21".
 */
export function findings(word: number): number {
  const low = word ^ 0x02020202;
  const slash = word ^ 0x5c5c5c5c;
  return ((low - 0x21212121) & ~low) | ((slash - 0x01010101) & ~slash);
}

/** Whether JSON.stringify escapes an ASCII character, or other byte of UTF-8. */
export function isEscaped(unit: number): boolean {
  return unit < 0x20 || unit === quote || unit === backslash;
}

/** Writes one byte of text, escaped where JSON.stringify would; returns where the next one goes. */
export function escapeByte(out: Buffer, to: number, unit: number): number {
  if (!isEscaped(unit)) {
    out[to] = unit;
    return to + 1;
  }
  out[to] = backslash;
  const short = shortEscapes[unit];
  if (short !== undefined) {
    out[to + 1] = short;
    return to + 2;
  }
  out[to + 1] = 0x75;
  out[to + 2] = 0x30;
  out[to + 3] = 0x30;
  out[to + 4] = hexDigits.charCodeAt(unit >> 4);
  out[to + 5] = hexDigits.charCodeAt(unit & 15);
  return to + 6;
}

const shortEscapes: readonly (number | undefined)[] = Object.assign(
  Array.from({ length: 128 }, () => undefined),
  { 8: 0x62, 9: 0x74, 10: 0x6e, 12: 0x66, 13: 0x72, [quote]: quote, [backslash]: backslash },
);
