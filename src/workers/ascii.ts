/** Bytes that are written again and again, to be copied by words. */
export function literal(text: string): DataView {
  return viewOf(Buffer.from(text, "latin1"));
}

/** The bytes as they lie, to be read by words. */
export function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** Digits of a whole number from 0. */
export function countDigits(value: number): number {
  let count = 1;
  for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) {
    count += 1;
  }
  return count;
}

const wholeSecond = "yyyy-mm-ddThh:mm:ss".length;
let cachedSecond = Number.NaN;
let cachedIso = literal("");

/** `2026-11-21T10:11:12`: the same for all that ends within a second. */
export function secondIso(second: number): DataView {
  if (second !== cachedSecond) {
    cachedIso = literal(new Date(second * 1_000).toISOString().slice(0, wholeSecond));
    cachedSecond = second;
  }
  return cachedIso;
}
