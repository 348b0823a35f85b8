/**
 * A text after decoding what could hide a match from a rule: percent-encoding, zero-width
 * characters and full-width letters. Positions can be mapped back to the original text.
 */
export interface FoldedText {
  readonly text: string;
  /** Position in the original text where the character at this index begins. */
  startOf(index: number): number;
  /** Position in the original text where the text that ends at this index ends. */
  endOf(index: number): number;
}

const encodedPattern =
  /(?:%[\da-f]{2})+|[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+|[\uff01-\uff5e]/gi;
/** Distance of the full-width forms U+FF01 to U+FF5E from the ASCII characters `!` to `~`. */
const fullWidthDistance = 0xfee0;

/**
 * Returns `undefined` if there is nothing to decode, which is nearly always so. Pass `isAscii` if
 * the text is known to be ASCII: only `%` must then be searched.
 */
export function foldText(text: string, isAscii = false): FoldedText | undefined {
  if (isAscii && !text.includes("%")) {
    return undefined;
  }
  encodedPattern.lastIndex = 0;
  let match = encodedPattern.exec(text);
  if (match === null) {
    return undefined;
  }
  let folded = "";
  let copiedTo = 0;
  /**
   * Pairs of an index in the folded text and the matching index in the original text, ascending.
   * Between two pairs both indexes advance by the same amount.
   */
  const marks: number[] = [0, 0];
  const appendMapped = (character: string, from: number, to: number): void => {
    marks.push(folded.length, from);
    folded += character;
    marks.push(folded.length, to);
  };
  for (; match !== null; match = encodedPattern.exec(text)) {
    const [encoded] = match;
    const { index } = match;
    folded += text.slice(copiedTo, index);
    if (encoded.startsWith("%")) {
      decodePercents(encoded, (character, from, to) =>
        appendMapped(character, index + from, index + to),
      );
    } else if (encoded >= "\uff01" && encoded <= "\uff5e") {
      appendMapped(
        String.fromCharCode(encoded.charCodeAt(0) - fullWidthDistance),
        index,
        index + 1,
      );
    } else {
      appendMapped("", index, index + encoded.length);
    }
    copiedTo = index + encoded.length;
  }
  folded += text.slice(copiedTo);
  return {
    text: folded,
    startOf: (index) => mapToOriginal(marks, index, "last"),
    endOf: (index) => mapToOriginal(marks, index, "first"),
  };
}

/** Decodes each character of a sequence of `%XX`. Invalid UTF-8 becomes U+FFFD. */
function decodePercents(
  run: string,
  onCharacter: (character: string, from: number, to: number) => void,
): void {
  const bytes = Buffer.from(run.replaceAll("%", ""), "hex");
  for (let at = 0; at < bytes.length;) {
    const end = Math.min(at + utf8SizeOf(bytes[at] ?? 0), bytes.length);
    onCharacter(bytes.toString("utf8", at, end), at * 3, end * 3);
    at = end;
  }
}

/** Number of bytes of the UTF-8 character that begins with this byte. */
function utf8SizeOf(lead: number): number {
  if (lead < 0xc2) {
    return 1;
  }
  if (lead < 0xe0) {
    return 2;
  }
  return lead < 0xf0 ? 3 : 4;
}

/**
 * Maps an index of the folded text to the original text. Around removed zero-width characters two
 * marks have the same folded index: a match begins after them (`last`) and ends before them
 * (`first`).
 */
function mapToOriginal(marks: readonly number[], index: number, side: "first" | "last"): number {
  let low = 0;
  let high = marks.length / 2 - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    const at = marks[2 * middle] ?? 0;
    if (side === "last" ? at <= index : at < index) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  const next = marks[2 * low + 2];
  if (side === "first" && next === index) {
    return marks[2 * low + 3] ?? 0;
  }
  return (marks[2 * low + 1] ?? 0) + index - (marks[2 * low] ?? 0);
}
