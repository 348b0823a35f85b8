import { encodeJsonTexts } from "../../storage/postgres/text-encoding.ts";

/**
 * Maximum nesting of a payload that filters read. PostgreSQL's functions for JSON are recursive, like those of SQLite.
 */
const maxNesting = 1_000;

const [openBracket, openBrace, closeBracket, closeBrace, quote, backslash] = Array.from(
  '[{]}"\\',
  (character) => character.charCodeAt(0),
) as [number, number, number, number, number, number];

/**
 * Returns the JSON that filters read in place of a payload: `null` if they can read the payload itself, which is nearly
 * always the case, and an empty text if the payload is nested too deeply.
 */
export function createDocument(body: Buffer): string | null {
  if (isNestedDeeply(body)) {
    return "";
  }
  return mayNeedEncoding(body)
    ? JSON.stringify(encodeJsonTexts(JSON.parse(body.toString("utf8"))))
    : null;
}

/** The first bytes, in UTF-8, of the placeholders of `encodeText`. Few other characters begin with these bytes. */
const placeholderBytes = Buffer.from([0xf4, 0x8f]);

/** Matches escapes of NUL and of lone surrogates, which `jsonb` can't hold. */
const unstorablePattern =
  /\\u0000|\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F]/;

/** Whether the payload may contain a character that `jsonb` can't hold, or a placeholder for such a character. */
const mayNeedEncoding = (body: Buffer): boolean =>
  (body.includes("\\u") && unstorablePattern.test(body.toString("latin1"))) ||
  body.includes(placeholderBytes);

function isNestedDeeply(body: Buffer): boolean {
  // `indexOf` is faster than the loop below, and most payloads have too few brackets to be nested deeply.
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
