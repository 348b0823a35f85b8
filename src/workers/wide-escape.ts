import { backslash, hexDigits, isEscaped } from "./json-escape.ts";

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
