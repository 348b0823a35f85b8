const wordBytes = 4;

/** Where to copy from and to, and how many bytes. */
export interface CopyRange {
  readonly from: number;
  readonly to: number;
  readonly length: number;
}

/**
 * Copies bytes between buffers that do not overlap. In shared memory the built-in functions copy byte by byte, unless
 * both offsets have the same alignment; a loop over words is several times faster.
 */
export function copyBytes(
  source: DataView,
  target: DataView,
  { from, to, length }: CopyRange,
): void {
  let i = 0;
  for (; i + wordBytes <= length; i += wordBytes) {
    target.setInt32(to + i, source.getInt32(from + i, true), true);
  }
  for (; i < length; i++) {
    target.setUint8(to + i, source.getUint8(from + i));
  }
}
