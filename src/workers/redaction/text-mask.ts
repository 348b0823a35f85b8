import { findCardLength, findNextGroup } from "../../model/options/card-number.ts";
import type { RedactionSearch } from "../../model/options/redaction-search.ts";

/** Encoding of a text in a buffer of records. */
export type Encoding = "utf8" | "utf16le" | "latin1";

/** Byte range of a text in a buffer of records, and its encoding. */
export interface TextPosition {
  readonly start: number;
  readonly end: number;
  readonly encoding: Encoding;
}

/**
 * Overwrites a text with `[name]***`, or with asterisks alone if the text is too short for the
 * name. Returns false if the text is empty.
 */
export function maskText(
  bytes: Buffer,
  name: string,
  { start, end, encoding }: TextPosition,
): boolean {
  if (end <= start) {
    return false;
  }
  const isWide = encoding === "utf16le";
  const label = `[${name}]`;
  bytes.fill(isWide ? "*\0" : "*", start, end, "latin1");
  if (label.length * (isWide ? 2 : 1) <= end - start) {
    bytes.write(label, start, encoding);
  }
  return true;
}

/**
 * Returns a function that maps an index in `text` to the offset of that character in the buffer that contains the
 * encoded text. Calls with ascending indexes are fast.
 */
export function createByteOffsetMapper(
  text: string,
  { start, end, encoding }: TextPosition,
): (index: number) => number {
  if (encoding === "utf16le") {
    return (index) => start + 2 * index;
  }
  if (text.length === end - start) {
    return (index) => start + index;
  }
  let lastIndex = 0;
  let lastByte = start;
  return (index) => {
    // Two matches may share a surrogate pair. The second one then begins before the end of the first.
    lastByte +=
      index < lastIndex
        ? -Buffer.byteLength(text.slice(index, lastIndex))
        : Buffer.byteLength(text.slice(lastIndex, index));
    lastIndex = index;
    return lastByte;
  };
}

/**
 * Moves the start of a match so that it does not divide a surrogate pair: the pair is masked as a
 * whole.
 */
export const toPairStart = (text: string, index: number): number =>
  isInsidePair(text, index) ? index - 1 : index;

/** Moves the end of a match so that it does not divide a surrogate pair. */
export const toPairEnd = (text: string, index: number): number =>
  isInsidePair(text, index) ? index + 1 : index;

const isInsidePair = (text: string, index: number): boolean =>
  index > 0 && (text.codePointAt(index - 1) ?? 0) > 0xffff;

/** Whether a text contains at least one of the `parts`. */
export function containsAny(text: string, parts: readonly string[]): boolean {
  for (const part of parts) {
    if (text.includes(part)) {
      return true;
    }
  }
  return false;
}

/** Matches keys that are assumed not to be personal data: names of at most 32 letters and underscores. */
const plainKey = /^[A-Za-z_]{1,32}$/;

/** Whether the key of an object is left readable in a record that could not be searched. */
export const isPlainKey = (key: string): boolean => plainKey.test(key);

/** Calls `onMatch` with the start and the end of each match of a rule in a text, in order. */
export function visitMatches(
  text: string,
  { pattern, isCard }: Pick<RedactionSearch, "pattern" | "isCard">,
  onMatch: (start: number, end: number) => void,
): void {
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const [whole] = match;
    const length = isCard === true ? findCardLength(whole) : whole.length;
    const [start, end] = match.indices?.groups?.["masked"] ?? [match.index, match.index + length];
    if (whole === "") {
      pattern.lastIndex += 1;
    } else if (length < whole.length) {
      // Continue after the card number, or at the next group of digits, which may begin one.
      pattern.lastIndex = match.index + (length > 0 ? length : findNextGroup(whole));
    }
    if (end > start) {
      onMatch(start, end);
    }
  }
}
