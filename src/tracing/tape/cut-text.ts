/** Texts longer than this are probed for what is not Latin-1. */
const probedFrom = 64;
const probes = 8;

/**
 * Estimates from a few evenly spread units whether a long text goes beyond Latin-1. Encoding such a text as UTF-8 takes
 * a branch for each unit, which is left to a worker; UTF-16 is copied as it is.
 */
export function looksWide(text: string): boolean {
  if (text.length <= probedFrom) {
    return false;
  }
  const step = Math.floor(text.length / probes);
  let bits = 0;
  for (let i = 0; i < probes; i++) {
    bits |= text.charCodeAt(i * step);
  }
  return bits > 0xff;
}

/** What fits of a text into so many bytes, and then how much is missing. */
export const cutText = (text: string, bytes: number): string =>
  truncated(text, fittingUnits(text, bytes));

/** How many UTF-16 units of a text fit into so many bytes, in UTF-8 and in UTF-16 alike. */
function fittingUnits(text: string, bytes: number): number {
  const most = Math.min(text.length, bytes);
  const head = text.slice(0, most);
  let size = Buffer.byteLength(head);
  if (size === most) {
    return most;
  }
  let units = Math.min(most, Math.floor(bytes / 2));
  size = Buffer.byteLength(text.slice(0, units));
  while (size > bytes) {
    units = Math.floor(units * (bytes / size));
    size = Buffer.byteLength(text.slice(0, units));
  }
  return units;
}

/** The first units of a text, never half a character, and how many are missing. */
export function truncated(text: string, units: number): string {
  const kept = splitsPair(text, units) ? units - 1 : units;
  const rest = text.length - kept;
  return kept === 0
    ? `[truncated: ${rest} characters]`
    : `${text.slice(0, kept)}…[truncated: ${rest} more characters]`;
}

/** Whether a cut before this unit parts the two surrogates of one character. */
function splitsPair(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  const before = text.charCodeAt(at - 1);
  return unit >= 0xdc00 && unit <= 0xdfff && before >= 0xd800 && before <= 0xdbff;
}
