/** A piece of a text, and whether it is what was searched for. */
export interface MatchPiece {
  readonly text: string;
  readonly isMatch: boolean;
}

const pieceLimit = 200;

/** A text cut where a word is found in it, in either case. */
export function splitMatches(text: string, word: string): readonly MatchPiece[] {
  const [lower, wanted] = [text.toLowerCase(), word.toLowerCase()];
  // A letter whose lower case is longer moves what is behind it: then nothing is marked.
  if (wanted === "" || lower.length !== text.length) {
    return [{ text, isMatch: false }];
  }
  const pieces: MatchPiece[] = [];
  let from = 0;
  for (
    let at = lower.indexOf(wanted);
    at >= 0 && pieces.length < pieceLimit;
    at = lower.indexOf(wanted, from)
  ) {
    if (at > from) {
      pieces.push({ text: text.slice(from, at), isMatch: false });
    }
    from = at + wanted.length;
    pieces.push({ text: text.slice(at, from), isMatch: true });
  }
  return from < text.length ? [...pieces, { text: text.slice(from), isMatch: false }] : pieces;
}
