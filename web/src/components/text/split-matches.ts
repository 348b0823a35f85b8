/** A segment of a text, and whether it matches the search. */
export interface TextSegment {
  readonly text: string;
  readonly isMatch: boolean;
}

const maxSegments = 200;

/** Splits a text into segments that match the search text, ignoring case, and segments that don't. */
export function splitMatches(text: string, searchText: string): readonly TextSegment[] {
  const [lower, needle] = [text.toLowerCase(), searchText.toLowerCase()];
  // If lower-casing changes the length of the text, offsets in `lower` are wrong for `text`, so no match is marked.
  if (needle === "" || lower.length !== text.length) {
    return [{ text, isMatch: false }];
  }
  const segments: TextSegment[] = [];
  let from = 0;
  for (
    let matchStart = lower.indexOf(needle);
    matchStart >= 0 && segments.length < maxSegments;
    matchStart = lower.indexOf(needle, from)
  ) {
    if (matchStart > from) {
      segments.push({ text: text.slice(from, matchStart), isMatch: false });
    }
    from = matchStart + needle.length;
    segments.push({ text: text.slice(matchStart, from), isMatch: true });
  }
  return from < text.length ? [...segments, { text: text.slice(from), isMatch: false }] : segments;
}
