/** A segment of a text, and whether it matches the search. */
export interface TextSegment {
  readonly text: string;
  readonly isMatch: boolean;
}

const segmentLimit = 200;

/** Splits a text into segments that match the word, in any case, and segments that don't. */
export function splitMatches(text: string, word: string): readonly TextSegment[] {
  const [lower, needle] = [text.toLowerCase(), word.toLowerCase()];
  // If lower-casing changes the length, offsets in `lower` do not fit `text`; then no match is marked.
  if (needle === "" || lower.length !== text.length) {
    return [{ text, isMatch: false }];
  }
  const segments: TextSegment[] = [];
  let from = 0;
  for (
    let at = lower.indexOf(needle);
    at >= 0 && segments.length < segmentLimit;
    at = lower.indexOf(needle, from)
  ) {
    if (at > from) {
      segments.push({ text: text.slice(from, at), isMatch: false });
    }
    from = at + needle.length;
    segments.push({ text: text.slice(at, from), isMatch: true });
  }
  return from < text.length ? [...segments, { text: text.slice(from), isMatch: false }] : segments;
}
