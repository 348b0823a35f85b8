/** Returns a constant ASCII text as bytes, so that it can be copied eight bytes at a time. */
export function toView(text: string): DataView {
  return createView(Buffer.from(text, "latin1"));
}

/** Returns a view of the same bytes without a copy, for reading several bytes at once. */
export function createView({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

const float64Bytes = 8;
const wordBytes = 4;

/**
 * Copies UTF-8 text eight bytes at a time, as float64 values: the fastest way for a few hundred bytes. JavaScript may
 * change the bits of a NaN when it copies one, but UTF-8 text never contains the bytes of a NaN. The last step may
 * overlap the one before it.
 */
export function copyText(
  source: DataView,
  start: number,
  target: { readonly out: DataView; readonly to: number; readonly size: number },
): void {
  const { out, to, size } = target;
  const end = start + size;
  if (size >= float64Bytes) {
    let sourceOffset = start;
    for (
      let targetOffset = to;
      sourceOffset + float64Bytes <= end;
      sourceOffset += float64Bytes, targetOffset += float64Bytes
    ) {
      out.setFloat64(targetOffset, source.getFloat64(sourceOffset, true), true);
    }
    out.setFloat64(to + size - float64Bytes, source.getFloat64(end - float64Bytes, true), true);
  } else if (size >= wordBytes) {
    out.setInt32(to, source.getInt32(start, true), true);
    out.setInt32(to + size - wordBytes, source.getInt32(end - wordBytes, true), true);
  } else {
    for (let i = 0; i < size; i++) {
      out.setUint8(to + i, source.getUint8(start + i));
    }
  }
}

/** Returns the number of decimal digits of a non-negative integer. */
export function countDigits(value: number): number {
  let count = 1;
  for (let remaining = value; remaining >= 10; remaining = Math.floor(remaining / 10)) {
    count += 1;
  }
  return count;
}

const isoSecondLength = "yyyy-mm-ddThh:mm:ss".length;
let cachedSecond = Number.NaN;
let cachedIso = toView("");

/**
 * Formats a second since the Unix epoch as `2026-11-21T10:11:12`. The last result is cached,
 * because many runs end within the same second.
 */
export function formatSecond(second: number): DataView {
  if (second !== cachedSecond) {
    cachedIso = toView(new Date(second * 1_000).toISOString().slice(0, isoSecondLength));
    cachedSecond = second;
  }
  return cachedIso;
}
