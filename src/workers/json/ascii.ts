/** Bytes that are written again and again, to be copied by words. */
export function literal(text: string): DataView {
  return viewOf(Buffer.from(text, "latin1"));
}

/** The bytes as they lie, to be read by words. */
export function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

const stepBytes = 8;
const wordBytes = 4;

/**
 * Copies UTF-8 text, eight bytes at a time: as float64s, the fastest way for some hundred bytes. No such
 * text holds the bytes of a NaN, which need not stay the same. The last step may overlap the one before.
 */
export function moveText(
  source: DataView,
  start: number,
  target: { readonly out: DataView; readonly to: number; readonly size: number },
): void {
  const { out, to, size } = target;
  const end = start + size;
  if (size >= stepBytes) {
    let from = start;
    for (let at = to; from + stepBytes <= end; from += stepBytes, at += stepBytes) {
      out.setFloat64(at, source.getFloat64(from, true), true);
    }
    out.setFloat64(to + size - stepBytes, source.getFloat64(end - stepBytes, true), true);
  } else if (size >= wordBytes) {
    out.setInt32(to, source.getInt32(start, true), true);
    out.setInt32(to + size - wordBytes, source.getInt32(end - wordBytes, true), true);
  } else {
    for (let i = 0; i < size; i++) {
      out.setUint8(to + i, source.getUint8(start + i));
    }
  }
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
