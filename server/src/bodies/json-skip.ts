import { escapable, hasSpecial, hexDigit, plain } from "./json-bytes.ts";

/** The text is not JSON; the message contains the position. */
export class JsonError extends Error {}

/** The text that is parsed. The caller must check that the bytes are UTF-8. */
export interface JsonText {
  readonly bytes: Buffer;
  /** View of the same bytes, which reads four of them at once. */
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

// Each of these functions takes the position at which something begins, and returns the position after it.
// Positions are arguments and local variables instead of fields, which is the main reason for the speed.

/**
 * Skips one value. It is a loop with its own stack, because recursion into a deeply nested text could exhaust the
 * thread's stack. `outer` is the number of levels around the value.
 *
 * @throws JsonError the text breaks the grammar (RFC 8259), or is nested too deeply.
 */
export function skipValue(text: JsonText, from: number, outer = 0): number {
  const { bytes } = text;
  const closers: number[] = [];
  let at = from;
  for (;;) {
    const byte = bytes[at];
    if (byte === openBrace || byte === openBracket) {
      const closer = byte + 2;
      at = skipSpace(bytes, at + 1);
      if (bytes[at] !== closer) {
        if (closers.push(closer) + outer > text.depthMax) {
          fail(text, at, `at most ${text.depthMax} levels`);
        }
        at = closer === closeBrace ? skipName(text, at) : at;
        continue;
      }
      at += 1;
    } else {
      at = skipScalar(text, at);
    }
    // Continue with the next member or item, or leave all arrays and objects that end here.
    let closer = closers[closers.length - 1];
    for (; closer !== undefined; closer = closers[closers.length - 1]) {
      at = skipSpace(bytes, at);
      if (hasComma(text, at, closer)) {
        at = skipSpace(bytes, at + 1);
        at = closer === closeBrace ? skipName(text, at) : at;
        break;
      }
      at += 1;
      closers.pop();
    }
    if (closer === undefined) {
      return at;
    }
  }
}

/** Whether there is a comma at the position. @throws JsonError there is neither a comma nor the closing bracket. */
export function hasComma(text: JsonText, at: number, closer: number): boolean {
  const byte = text.bytes[at];
  if (byte !== comma && byte !== closer) {
    fail(text, at, `a comma or ${String.fromCharCode(closer)}`);
  }
  return byte === comma;
}

/** Skips a member's name, the colon, and the whitespace around the colon. */
function skipName(text: JsonText, from: number): number {
  if (text.bytes[from] !== quote) {
    fail(text, from, "a name in quotes");
  }
  return skipColon(text, skipString(text, from));
}

/** Skips the colon and whitespace between a member's name and its value. */
export function skipColon(text: JsonText, from: number): number {
  const at = skipSpace(text.bytes, from);
  if (text.bytes[at] !== colon) {
    fail(text, at, "a colon");
  }
  return skipSpace(text.bytes, at + 1);
}

export function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  let byte = bytes[at] ?? 0;
  while (byte <= space && (byte === space || byte === 0x0a || byte === 0x0d || byte === 0x09)) {
    at += 1;
    byte = bytes[at] ?? 0;
  }
  return at;
}

function skipScalar(text: JsonText, at: number): number {
  switch (text.bytes[at]) {
    case quote:
      return skipString(text, at);
    case 0x74:
      return skipWord(text, at, "true");
    case 0x66:
      return skipWord(text, at, "false");
    case 0x6e:
      return skipWord(text, at, "null");
    default:
      return skipNumber(text, at);
  }
}

/** Skips a string that begins with the quote at `from`. */
export function skipString(text: JsonText, from: number): number {
  const { bytes, view } = text;
  const end = bytes.length;
  const lastWordStart = end - 4;
  let at = from + 1;
  for (;;) {
    // Skip four bytes at a time while none of them is special, then single bytes up to the special one.
    while (at <= lastWordStart && !hasSpecial(view.getInt32(at))) {
      at += 4;
    }
    while (at < end && plain[bytes[at] ?? 0] === 1) {
      at += 1;
    }
    const byte = bytes[at];
    if (byte === quote) {
      return at + 1;
    }
    if (byte !== backslash) {
      fail(text, at, byte === undefined ? "the end of a string" : "an escaped control character");
    }
    at = skipEscape(text, at);
  }
}

function skipEscape(text: JsonText, at: number): number {
  const { bytes } = text;
  const kind = bytes[at + 1] ?? 0;
  if (kind === 0x75) {
    for (let digit = at + 2; digit < at + 6; digit += 1) {
      if (hexDigit[bytes[digit] ?? 0] !== 1) {
        fail(text, at, "four hexadecimal digits after \\u");
      }
    }
    return at + 6;
  }
  if (escapable[kind] !== 1) {
    fail(text, at, "a known escape");
  }
  return at + 2;
}

function skipWord(text: JsonText, at: number, word: string): number {
  for (let index = 0; index < word.length; index += 1) {
    if (text.bytes[at + index] !== word.charCodeAt(index)) {
      fail(text, at, word);
    }
  }
  return at + word.length;
}

function skipNumber(text: JsonText, from: number): number {
  const { bytes } = text;
  let at = bytes[from] === 0x2d ? from + 1 : from;
  at = bytes[at] === 0x30 ? at + 1 : skipDigits(text, at, "a value");
  if (bytes[at] === 0x2e) {
    at = skipDigits(text, at + 1, "a digit");
  }
  if (bytes[at] === 0x65 || bytes[at] === 0x45) {
    const isSigned = bytes[at + 1] === 0x2b || bytes[at + 1] === 0x2d;
    at = skipDigits(text, at + (isSigned ? 2 : 1), "a digit");
  }
  return at;
}

function skipDigits(text: JsonText, from: number, expected: string): number {
  const { bytes } = text;
  let at = from;
  for (let byte = bytes[at] ?? 0; byte >= 0x30 && byte <= 0x39;) {
    at += 1;
    byte = bytes[at] ?? 0;
  }
  if (at === from) {
    fail(text, at, expected);
  }
  return at;
}

/** @throws JsonError always. */
export function fail({ bytes }: JsonText, at: number, expected: string): never {
  throw new JsonError(`not JSON: expected ${expected} at byte ${at} of ${bytes.length}`);
}
