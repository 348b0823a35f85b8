import { cardLength, nextGroup } from "../../model/options/card-number.ts";
import type { RedactionSearch } from "../../model/options/redaction-search.ts";

/** How a text lies on a tape. */
export type Encoding = "utf8" | "utf16le" | "latin1";

/** Where a text lies on a tape: bytes. */
export interface TextPosition {
  readonly start: number;
  readonly end: number;
  readonly encoding: Encoding;
}

/** Puts `[name]***` over what is there, or stars alone where that is too long; false where nothing is there. */
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

/** Maps the offset of a UTF-16 unit in a text to that of its bytes. Quick for ascending offsets. */
export function byteOffsets(
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
    // Two matches may share a surrogate pair: then the second begins before the first one ends.
    lastByte +=
      index < lastIndex
        ? -Buffer.byteLength(text.slice(index, lastIndex))
        : Buffer.byteLength(text.slice(lastIndex, index));
    lastIndex = index;
    return lastByte;
  };
}

/** A beginning that does not divide a surrogate pair: the pair is masked whole. */
export const wholeFrom = (text: string, index: number): number =>
  dividesPair(text, index) ? index - 1 : index;

/** An end, likewise. */
export const wholeTo = (text: string, index: number): number =>
  dividesPair(text, index) ? index + 1 : index;

const dividesPair = (text: string, index: number): boolean =>
  index > 0 && (text.codePointAt(index - 1) ?? 0) > 0xffff;

/** Whether a text holds one of these parts. */
export function holdsOneOf(text: string, parts: readonly string[]): boolean {
  for (const part of parts) {
    if (text.includes(part)) {
      return true;
    }
  }
  return false;
}

/** Names that say nothing of whom a run is about: words, not data. */
const plainKey = /^[A-Za-z_]{1,32}$/;

/** Whether a key may stay readable where nothing could be searched. */
export const isPlainKey = (key: string): boolean => plainKey.test(key);

/** Calls for each place in a text that a rule masks, in order: where it begins, and where it ends. */
export function forEachMatch(
  text: string,
  { pattern, isCard }: Pick<RedactionSearch, "pattern" | "isCard">,
  onMatch: (from: number, to: number) => void,
): void {
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const [whole] = match;
    const length = isCard === true ? cardLength(whole) : whole.length;
    const [from, to] = match.indices?.groups?.["masked"] ?? [match.index, match.index + length];
    if (whole === "") {
      pattern.lastIndex += 1;
    } else if (length < whole.length) {
      // Behind the card, or at the next digits that may begin one.
      pattern.lastIndex = match.index + (length > 0 ? length : nextGroup(whole));
    }
    if (to > from) {
      onMatch(from, to);
    }
  }
}
