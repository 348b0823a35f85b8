/** Texts longer than this are probed for characters outside Latin-1. Length in UTF-16 units. */
const probedLength = 64;
/** How many characters of a text are probed. */
const probeCount = 8;

/**
 * Estimates from a few evenly spaced UTF-16 units whether a long text contains characters outside Latin-1. Such a text
 * is copied into its record as UTF-16. Encoding it as UTF-8 needs a branch for each unit and is therefore left to a
 * worker.
 */
export function isProbablyWide(text: string): boolean {
  if (text.length <= probedLength) {
    return false;
  }
  const step = Math.floor(text.length / probeCount);
  let combinedUnits = 0;
  for (let i = 0; i < probeCount; i++) {
    combinedUnits |= text.charCodeAt(i * step);
  }
  return combinedUnits > 0xff;
}

/** Cuts a text to a number of bytes and appends a marker with the number of missing characters. */
export const cutText = (text: string, bytes: number): string =>
  truncateText(text, countFittingUnits(text, bytes));

/** Counts how many UTF-16 units of a text can be kept so that they take at most this many bytes as UTF-8. */
function countFittingUnits(text: string, bytes: number): number {
  const maxUnits = Math.min(text.length, bytes);
  const head = text.slice(0, maxUnits);
  let utf8Bytes = Buffer.byteLength(head);
  if (utf8Bytes === maxUnits) {
    return maxUnits;
  }
  let units = Math.min(maxUnits, Math.floor(bytes / 2));
  utf8Bytes = Buffer.byteLength(text.slice(0, units));
  while (utf8Bytes > bytes) {
    units = Math.floor(units * (bytes / utf8Bytes));
    utf8Bytes = Buffer.byteLength(text.slice(0, units));
  }
  return units;
}

/**
 * Returns the first `units` UTF-16 units of a text, or one fewer if the cut would split a surrogate pair, followed by a
 * marker with the number of missing units.
 */
export function truncateText(text: string, units: number): string {
  const cutLength = isInsidePair(text, units) ? units - 1 : units;
  const missing = text.length - cutLength;
  return cutLength === 0
    ? `[truncated: ${missing} characters]`
    : `${text.slice(0, cutLength)}…[truncated: ${missing} more characters]`;
}

/** Whether a cut before this unit would split a surrogate pair. */
function isInsidePair(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  const previousUnit = text.charCodeAt(index - 1);
  return unit >= 0xdc00 && unit <= 0xdfff && previousUnit >= 0xd800 && previousUnit <= 0xdbff;
}
