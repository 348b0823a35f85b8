/**
 * A text after decoding characters that could hide a match from a redaction rule: percent-encoded, zero-width and
 * full-width characters. Positions can be mapped back to the original text.
 */
export interface DecodedText {
  readonly text: string;
  /** Returns the position in the original text of the character at `index`. */
  mapStart(index: number): number;
  /** Returns where a match ends in the original text if it ends at `index` in the decoded text. */
  mapEnd(index: number): number;
}

const hiddenCharacters =
  /(?:%[\da-f]{2})+|[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+|[\uff01-\uff5e]/gi;
/** Distance of the full-width forms U+FF01 to U+FF5E from the ASCII characters `!` to `~`. */
const fullWidthDistance = 0xfee0;

/**
 * Decodes characters that could hide a match. Returns `undefined` if there are none, as in nearly all texts. Pass
 * `isAscii` if the text is known to be ASCII: then only `%` must be searched.
 */
export function decodeHiddenText(text: string, isAscii = false): DecodedText | undefined {
  if (isAscii && !text.includes("%")) {
    return undefined;
  }
  hiddenCharacters.lastIndex = 0;
  let match = hiddenCharacters.exec(text);
  if (match === null) {
    return undefined;
  }
  let decodedText = "";
  let copiedTo = 0;
  /**
   * Pairs of an index in the decoded text and the matching index in the original text, ascending.
   * Between two pairs both indexes advance by the same amount.
   */
  const indexPairs: number[] = [0, 0];
  const appendMapped = (character: string, start: number, end: number): void => {
    indexPairs.push(decodedText.length, start);
    decodedText += character;
    indexPairs.push(decodedText.length, end);
  };
  for (; match !== null; match = hiddenCharacters.exec(text)) {
    const [encoded] = match;
    const { index } = match;
    decodedText += text.slice(copiedTo, index);
    if (encoded.startsWith("%")) {
      decodePercents(encoded, (character, start, end) =>
        appendMapped(character, index + start, index + end),
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
  decodedText += text.slice(copiedTo);
  return {
    text: decodedText,
    mapStart: (index) => mapToOriginal(indexPairs, index, "last"),
    mapEnd: (index) => mapToOriginal(indexPairs, index, "first"),
  };
}

/** Decodes each character of a sequence of `%XX`. Invalid UTF-8 becomes U+FFFD. */
function decodePercents(
  sequence: string,
  onCharacter: (character: string, start: number, end: number) => void,
): void {
  const bytes = Buffer.from(sequence.replaceAll("%", ""), "hex");
  for (let position = 0; position < bytes.length;) {
    const end = Math.min(position + measureUtf8(bytes[position] ?? 0), bytes.length);
    onCharacter(bytes.toString("utf8", position, end), position * 3, end * 3);
    position = end;
  }
}

/** Returns the number of bytes of the UTF-8 character that begins with this byte. */
function measureUtf8(leadByte: number): number {
  if (leadByte < 0xc2) {
    return 1;
  }
  if (leadByte < 0xe0) {
    return 2;
  }
  return leadByte < 0xf0 ? 3 : 4;
}

/**
 * Maps an index of the decoded text to the original text. Removed zero-width characters create two pairs with the same
 * index in the decoded text. A match begins after the removed characters (the `last` pair) and ends before them (the
 * `first` pair).
 */
function mapToOriginal(
  indexPairs: readonly number[],
  index: number,
  side: "first" | "last",
): number {
  let low = 0;
  let high = indexPairs.length / 2 - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    const position = indexPairs[2 * middle] ?? 0;
    if (side === "last" ? position <= index : position < index) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  const nextDecodedIndex = indexPairs[2 * low + 2];
  if (side === "first" && nextDecodedIndex === index) {
    return indexPairs[2 * low + 3] ?? 0;
  }
  return (indexPairs[2 * low + 1] ?? 0) + index - (indexPairs[2 * low] ?? 0);
}
