import { escapableBytes, hasSpecialByte, hexDigitBytes, unescapedBytes } from "./json-bytes.ts";

/** Thrown for a text that is not JSON. The message contains the position of the error. */
export class JsonError extends Error {}

/** The text that is parsed. The caller must check that the bytes are UTF-8. */
export interface JsonText {
  readonly bytes: Buffer;
  /** A view of the same bytes, which reads four bytes at once. */
  readonly view: DataView;
  readonly depthMax: number;
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const space = 0x20;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;

// Each `skip` function takes the position at which a value or another part of the text begins, and returns the
// position after it. Positions are arguments and local variables instead of fields, mainly because that is faster.

/**
 * Skips one value. This is a loop with a stack of its own, because recursion into a deeply nested text could exhaust
 * the thread's stack. `outerDepth` is the number of arrays and objects that the value is nested in.
 *
 * @throws JsonError if the text breaks the grammar (RFC 8259), or is nested too deeply.
 */
export function skipValue(text: JsonText, start: number, outerDepth = 0): number {
  const { bytes } = text;
  const closingBrackets: number[] = [];
  let position = start;
  for (;;) {
    const byte = bytes[position];
    if (byte === openBrace || byte === openBracket) {
      const closingBracket = byte + 2;
      position = skipSpace(bytes, position + 1);
      if (bytes[position] !== closingBracket) {
        if (closingBrackets.push(closingBracket) + outerDepth > text.depthMax) {
          throwJsonError(text, position, `at most ${text.depthMax} levels`);
        }
        position = closingBracket === closeBrace ? skipName(text, position) : position;
        continue;
      }
      position += 1;
    } else {
      position = skipScalar(text, position);
    }
    // Continue with the next member or item, or leave all arrays and objects that end here.
    let closingBracket = closingBrackets[closingBrackets.length - 1];
    for (
      ;
      closingBracket !== undefined;
      closingBracket = closingBrackets[closingBrackets.length - 1]
    ) {
      position = skipSpace(bytes, position);
      if (hasComma(text, position, closingBracket)) {
        position = skipSpace(bytes, position + 1);
        position = closingBracket === closeBrace ? skipName(text, position) : position;
        break;
      }
      position += 1;
      closingBrackets.pop();
    }
    if (closingBracket === undefined) {
      return position;
    }
  }
}

/**
 * Whether there is a comma at the position.
 *
 * @throws JsonError if there is neither a comma nor the closing bracket.
 */
export function hasComma(text: JsonText, position: number, closingBracket: number): boolean {
  const byte = text.bytes[position];
  if (byte !== comma && byte !== closingBracket) {
    throwJsonError(text, position, `a comma or ${String.fromCharCode(closingBracket)}`);
  }
  return byte === comma;
}

/** Skips a member's name, the colon, and the whitespace around the colon. */
function skipName(text: JsonText, start: number): number {
  if (text.bytes[start] !== quote) {
    throwJsonError(text, start, "a name in quotes");
  }
  return skipColon(text, skipString(text, start));
}

/** Skips the colon and whitespace between a member's name and its value. */
export function skipColon(text: JsonText, start: number): number {
  const position = skipSpace(text.bytes, start);
  if (text.bytes[position] !== colon) {
    throwJsonError(text, position, "a colon");
  }
  return skipSpace(text.bytes, position + 1);
}

/** Skips whitespace. Returns the position of the first byte that is not whitespace. */
export function skipSpace(bytes: Buffer, start: number): number {
  let position = start;
  let byte = bytes[position] ?? 0;
  while (byte <= space && (byte === space || byte === 0x0a || byte === 0x0d || byte === 0x09)) {
    position += 1;
    byte = bytes[position] ?? 0;
  }
  return position;
}

function skipScalar(text: JsonText, position: number): number {
  switch (text.bytes[position]) {
    case quote:
      return skipString(text, position);
    case 0x74:
      return skipKeyword(text, position, "true");
    case 0x66:
      return skipKeyword(text, position, "false");
    case 0x6e:
      return skipKeyword(text, position, "null");
    default:
      return skipNumber(text, position);
  }
}

/** Skips a string that begins with the quote at `start`. */
export function skipString(text: JsonText, start: number): number {
  const { bytes, view } = text;
  const end = bytes.length;
  const lastWordStart = end - 4;
  let position = start + 1;
  for (;;) {
    // Skip four bytes at a time while none of them is special, then single bytes up to the special byte.
    while (position <= lastWordStart && !hasSpecialByte(view.getInt32(position))) {
      position += 4;
    }
    while (position < end && unescapedBytes[bytes[position] ?? 0] === 1) {
      position += 1;
    }
    const byte = bytes[position];
    if (byte === quote) {
      return position + 1;
    }
    if (byte !== backslash) {
      throwJsonError(
        text,
        position,
        byte === undefined ? "the end of a string" : "an escaped control character",
      );
    }
    position = skipEscape(text, position);
  }
}

function skipEscape(text: JsonText, position: number): number {
  const { bytes } = text;
  const escapedByte = bytes[position + 1] ?? 0;
  if (escapedByte === 0x75) {
    for (let digitPosition = position + 2; digitPosition < position + 6; digitPosition += 1) {
      if (hexDigitBytes[bytes[digitPosition] ?? 0] !== 1) {
        throwJsonError(text, position, "four hexadecimal digits after \\u");
      }
    }
    return position + 6;
  }
  if (escapableBytes[escapedByte] !== 1) {
    throwJsonError(text, position, "a known escape");
  }
  return position + 2;
}

function skipKeyword(text: JsonText, position: number, word: string): number {
  for (let index = 0; index < word.length; index += 1) {
    if (text.bytes[position + index] !== word.charCodeAt(index)) {
      throwJsonError(text, position, word);
    }
  }
  return position + word.length;
}

function skipNumber(text: JsonText, start: number): number {
  const { bytes } = text;
  let position = bytes[start] === 0x2d ? start + 1 : start;
  position = bytes[position] === 0x30 ? position + 1 : skipDigits(text, position, "a value");
  if (bytes[position] === 0x2e) {
    position = skipDigits(text, position + 1, "a digit");
  }
  if (bytes[position] === 0x65 || bytes[position] === 0x45) {
    const isSigned = bytes[position + 1] === 0x2b || bytes[position + 1] === 0x2d;
    position = skipDigits(text, position + (isSigned ? 2 : 1), "a digit");
  }
  return position;
}

function skipDigits(text: JsonText, start: number, expected: string): number {
  const { bytes } = text;
  let position = start;
  for (let byte = bytes[position] ?? 0; byte >= 0x30 && byte <= 0x39;) {
    position += 1;
    byte = bytes[position] ?? 0;
  }
  if (position === start) {
    throwJsonError(text, position, expected);
  }
  return position;
}

/**
 * Throws the error for a text that is not JSON.
 *
 * @throws JsonError always.
 */
export function throwJsonError({ bytes }: JsonText, position: number, expected: string): never {
  throw new JsonError(`not JSON: expected ${expected} at byte ${position} of ${bytes.length}`);
}
