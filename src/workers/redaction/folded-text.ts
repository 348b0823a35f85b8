/**
 * A text without the disguises that a parser or a reader sees through: percent-encoding, characters
 * without width, full-width letters. Positions lead back to the text itself.
 */
export interface FoldedText {
  readonly text: string;
  /** Where in the text itself the character at this index begins. */
  startOf(index: number): number;
  /** Where in the text itself what ends before this index ends. */
  endOf(index: number): number;
}

const disguise =
  /(?:%[\da-f]{2})+|[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+|[\uff01-\uff5e]/gi;
/** From U+FF01 to `!`, and so on up to `~`. */
const fullWidthDistance = 0xfee0;

/**
 * `undefined` where nothing in the text is disguised, which is nearly always. Pass
 * `isAscii` where the text is known to be ASCII: it then needs no search.
 */
export function foldText(text: string, isAscii = false): FoldedText | undefined {
  if (isAscii && !text.includes("%")) {
    return undefined;
  }
  disguise.lastIndex = 0;
  let match = disguise.exec(text);
  if (match === null) {
    return undefined;
  }
  let folded = "";
  let copiedTo = 0;
  /** Pairs of an index in the folded text and one in the text itself, ascending: between two, both advance alike. */
  const marks: number[] = [0, 0];
  const put = (character: string, from: number, to: number): void => {
    marks.push(folded.length, from);
    folded += character;
    marks.push(folded.length, to);
  };
  for (; match !== null; match = disguise.exec(text)) {
    const [found] = match;
    const { index } = match;
    folded += text.slice(copiedTo, index);
    if (found.startsWith("%")) {
      decodePercents(found, (character, from, to) => put(character, index + from, index + to));
    } else if (found >= "\uff01" && found <= "\uff5e") {
      put(String.fromCharCode(found.charCodeAt(0) - fullWidthDistance), index, index + 1);
    } else {
      put("", index, index + found.length);
    }
    copiedTo = index + found.length;
  }
  folded += text.slice(copiedTo);
  return {
    text: folded,
    startOf: (index) => originOf(marks, index, "last"),
    endOf: (index) => originOf(marks, index, "first"),
  };
}

/** Each character of a run of `%XX`. Bytes that are no UTF-8 stand for U+FFFD. */
function decodePercents(
  run: string,
  onCharacter: (character: string, from: number, to: number) => void,
): void {
  const bytes = Buffer.from(run.replaceAll("%", ""), "hex");
  for (let at = 0; at < bytes.length;) {
    const end = Math.min(at + sizeOf(bytes[at] ?? 0), bytes.length);
    onCharacter(bytes.toString("utf8", at, end), at * 3, end * 3);
    at = end;
  }
}

/** Bytes of the character in UTF-8 that begins with this one. */
function sizeOf(lead: number): number {
  if (lead < 0xc2) {
    return 1;
  }
  if (lead < 0xe0) {
    return 2;
  }
  return lead < 0xf0 ? 3 : 4;
}

/**
 * At an index where characters without width stand, two marks share the folded index: a place begins
 * behind them (`last`) and ends before them (`first`).
 */
function originOf(marks: readonly number[], index: number, which: "first" | "last"): number {
  let low = 0;
  let high = marks.length / 2 - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    const at = marks[2 * middle] ?? 0;
    if (which === "last" ? at <= index : at < index) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  const next = marks[2 * low + 2];
  if (which === "first" && next === index) {
    return marks[2 * low + 3] ?? 0;
  }
  return (marks[2 * low + 1] ?? 0) + index - (marks[2 * low] ?? 0);
}
