import { isUtf8 } from "node:buffer";

/**
 * Minimum length of a sequence of base64 characters that is decoded: a shorter one can't contain even
 * `password=abcd`.
 */
const minSequenceLength = 18;
/**
 * Indexed by UTF-16 code unit: 1 for characters of the standard or URL-safe base64 alphabet,
 * without padding.
 */
const isBase64Unit = new Uint8Array(65_536);
for (const character of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_") {
  isBase64Unit[character.charCodeAt(0)] = 1;
}
/**
 * Number of characters at the start of a base64 sequence that are decoded to distinguish text from other data. Four
 * characters give three bytes.
 */
const sampleLength = 64;
/** Maximum number of characters of one base64 sequence that are decoded. */
const maxSequenceLength = 1_048_576;
/**
 * ASCII control characters other than tab, line feed and carriage return. Text does not contain
 * them.
 */
// oxlint-disable-next-line no-control-regex -- the pattern matches control characters
const controlCharacter = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

/** Calls `onText` for each part of a text that is base64 of another text. */
export function visitEncodedText(
  text: string,
  onText: (decoded: string, start: number, end: number) => void,
): void {
  // Checking every `minSequenceLength`-th character is enough, because a sequence of at least this length contains one
  // of the checked characters.
  for (let index = minSequenceLength - 1; index < text.length; index += minSequenceLength) {
    if (isBase64Unit[text.charCodeAt(index)] === 1) {
      const start = findSequenceStart(text, index);
      index = findSequenceEnd(text, index);
      if (index - start >= minSequenceLength) {
        decodeSequence(text, start, index, onText);
      }
    }
  }
}

function findSequenceStart(text: string, innerIndex: number): number {
  let index = innerIndex;
  while (index > 0 && isBase64Unit[text.charCodeAt(index - 1)] === 1) {
    index -= 1;
  }
  return index;
}

function findSequenceEnd(text: string, innerIndex: number): number {
  let index = innerIndex + 1;
  while (index < text.length && isBase64Unit[text.charCodeAt(index)] === 1) {
    index += 1;
  }
  return index;
}

// oxlint-disable-next-line max-params -- called for many words of each text; an object would create garbage
function decodeSequence(
  text: string,
  start: number,
  end: number,
  onText: (decoded: string, start: number, end: number) => void,
): void {
  const sample = Buffer.from(text.slice(start, Math.min(end, start + sampleLength)), "base64");
  if (isText(sample, end - start > sampleLength)) {
    const sequence = text.slice(start, Math.min(end, start + maxSequenceLength));
    onText(Buffer.from(sequence, "base64").toString("utf8"), start, end);
  }
}

/** Whether bytes are printable UTF-8 text. With `isCut`, the last character may be incomplete. */
function isText(bytes: Buffer, isCut: boolean): boolean {
  const end = isCut ? findCompleteEnd(bytes) : bytes.length;
  return isUtf8(bytes.subarray(0, end)) && !controlCharacter.test(bytes.toString("latin1", 0, end));
}

/**
 * Returns the start of the last character, which may be incomplete, or the end of the text if that
 * character is ASCII.
 */
function findCompleteEnd(bytes: Buffer): number {
  for (let index = bytes.length - 1; index >= 0 && index >= bytes.length - 4; index--) {
    const byte = bytes[index] ?? 0;
    if (byte < 0x80) {
      return index + 1;
    }
    if (byte >= 0xc0) {
      return index;
    }
  }
  return bytes.length;
}
