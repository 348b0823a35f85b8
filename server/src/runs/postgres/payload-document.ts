import { encodeJsonTexts } from "../../storage/postgres/text-encoding.ts";

/** Maximum nesting of a payload that filters read. Functions of PostgreSQL are recursive, as those of SQLite are. */
const maxNesting = 1_000;

const [openBracket, openBrace, closeBracket, closeBrace, quote, backslash] = Array.from(
  '[{]}"\\',
  (character) => character.charCodeAt(0),
) as [number, number, number, number, number, number];

/**
 * Returns the JSON that filters read in place of a payload: `null` if they can read the payload itself, as they nearly
 * always can, and an empty text if the payload is nested too deeply.
 */
export function createDocument(body: Buffer): string | null {
  if (isNestedDeeply(body)) {
    return "";
  }
  return mayNeedEncoding(body)
    ? JSON.stringify(encodeJsonTexts(JSON.parse(body.toString("utf8"))))
    : null;
}

/** The beginning of the UTF-8 encoding of the characters that `encodeText` uses, and of a few others. */
const standInBytes = Buffer.from([0xf4, 0x8f]);

const lonePattern =
  /\\u0000|\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F]/;

/** Whether the payload may contain a character that `jsonb` can't hold, or one that stands for such a character. */
const mayNeedEncoding = (body: Buffer): boolean =>
  (body.includes("\\u") && lonePattern.test(body.toString("latin1"))) ||
  body.includes(standInBytes);

function isNestedDeeply(body: Buffer): boolean {
  // Brackets are found faster than a loop reads all bytes, and most payloads have few of them.
  if (countUpTo(body, openBracket) + countUpTo(body, openBrace) <= maxNesting) {
    return false;
  }
  let nesting = 0;
  let isInText = false;
  for (let index = 0; index < body.length; index += 1) {
    const byte = body[index];
    if (isInText) {
      if (byte === backslash) {
        index += 1;
      } else if (byte === quote) {
        isInText = false;
      }
    } else if (byte === quote) {
      isInText = true;
    } else if (byte === openBracket || byte === openBrace) {
      nesting += 1;
      if (nesting > maxNesting) {
        return true;
      }
    } else if (byte === closeBracket || byte === closeBrace) {
      nesting -= 1;
    }
  }
  return false;
}

/** Counts a byte, up to one more than the maximum nesting. */
function countUpTo(body: Buffer, byte: number): number {
  let count = 0;
  for (
    let index = body.indexOf(byte);
    index !== -1 && count <= maxNesting;
    index = body.indexOf(byte, index + 1)
  ) {
    count += 1;
  }
  return count;
}
