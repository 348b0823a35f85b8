import { FilterError, quoteName } from "./filter-error.ts";
import type { Span } from "./filter-error.ts";

/** The smallest unit of a filter: a name, a value, a punctuation mark, or the end. */
export type Token = Span &
  (
    | { readonly kind: "name"; readonly name: string }
    | { readonly kind: "text"; readonly text: string; readonly rawSource?: string }
    | { readonly kind: "number"; readonly number: number }
    | { readonly kind: "mark"; readonly mark: PunctuationMark }
    | { readonly kind: "end" }
  );

export type PunctuationMark = "(" | ")" | "[" | "]" | ",";

const spacePattern = /\s*/y;
/** A name, optionally followed by the segments of a path, which are separated by dots. */
const namePattern = /[A-Za-z_][\w-]*(?:\.[\w-]+)*/y;
const numberPattern = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const wordPattern = /[\p{L}\p{N}_.+-]+|[^]/uy;
const punctuationMarks: ReadonlySet<string> = new Set<PunctuationMark>(["(", ")", "[", "]", ","]);

const isPunctuationMark = (value: string): value is PunctuationMark => punctuationMarks.has(value);

/**
 * Splits a filter into tokens. The last token is the end.
 *
 * @throws FilterError an unexpected character, an unterminated text, or an unknown escape.
 */
export function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let offset = skipSpace(text, 0);
  while (offset < text.length) {
    const token = readToken(text, offset, tokens.at(-1));
    tokens.push(token);
    offset = skipSpace(text, offset + token.length);
  }
  tokens.push({ kind: "end", offset, length: 1 });
  return tokens;
}

const skipSpace = (text: string, offset: number): number =>
  offset + (matchAt(spacePattern, text, offset)?.length ?? 0);

function matchAt(pattern: RegExp, text: string, offset: number): string | undefined {
  pattern.lastIndex = offset;
  return pattern.exec(text)?.[0];
}

function readToken(text: string, offset: number, previousToken: Token | undefined): Token {
  const firstCharacter = text.charAt(offset);
  if (isPunctuationMark(firstCharacter)) {
    return { kind: "mark", mark: firstCharacter, offset, length: 1 };
  }
  if (firstCharacter === '"' || firstCharacter === "'") {
    return readText(text, offset);
  }
  const name = matchAt(namePattern, text, offset);
  if (name !== undefined) {
    return { kind: "name", name, offset, length: name.length };
  }
  const digits = matchAt(numberPattern, text, offset);
  if (digits !== undefined && Number.isFinite(Number(digits))) {
    return { kind: "number", number: Number(digits), offset, length: digits.length };
  }
  const word = matchAt(wordPattern, text, offset) ?? firstCharacter;
  const isInName =
    previousToken?.kind === "name" && previousToken.offset + previousToken.length === offset;
  const allowed =
    isInName && (firstCharacter === "." || previousToken.name.includes("."))
      ? 'a path segment consists of letters, digits, _ and -; for other keys use and(eq(metadata_key, "…"), …)'
      : "expected a name, a quoted text, a number, or one of ( ) [ ] ,";
  throw new FilterError(text, {
    reason: `unexpected ${quoteName(word)}; ${allowed}`,
    offset,
    length: word.length,
  });
}

const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

/** Reads a text in single or double quotes. The text can contain the escapes of JSON, and `\'`. */
export function readText(text: string, offset: number): Token & { readonly kind: "text" } {
  const quote = text.charAt(offset);
  const parts: string[] = [];
  let partStart = offset + 1;
  for (;;) {
    const specialPosition = findQuoteOrBackslash(text, partStart, quote);
    if (specialPosition === -1) {
      throw new FilterError(text, {
        reason: `the text that begins here has no closing ${quote}`,
        offset,
        length: 1,
      });
    }
    parts.push(text.slice(partStart, specialPosition));
    if (text[specialPosition] === quote) {
      const source = text.slice(offset + 1, specialPosition);
      return {
        kind: "text",
        text: parts.join(""),
        ...(quote === "'" && source.includes("\\") ? { rawSource: source } : {}),
        offset,
        length: specialPosition + 1 - offset,
      };
    }
    const escape = readEscape(text, specialPosition);
    parts.push(escape.text);
    partStart = specialPosition + escape.length;
  }
}

const doubleQuoteOrBackslash = /["\\]/g;
const singleQuoteOrBackslash = /['\\]/g;

/** Returns the position of the next quote or backslash; -1 if there is none. */
function findQuoteOrBackslash(text: string, start: number, quote: string): number {
  const pattern = quote === '"' ? doubleQuoteOrBackslash : singleQuoteOrBackslash;
  pattern.lastIndex = start;
  return pattern.exec(text)?.index ?? -1;
}

const codePattern = /u[0-9a-fA-F]{4}/y;

function readEscape(text: string, offset: number): { text: string; length: number } {
  const code = matchAt(codePattern, text, offset + 1);
  if (code !== undefined) {
    return { text: String.fromCharCode(Number.parseInt(code.slice(1), 16)), length: 6 };
  }
  const character = text.charAt(offset + 1);
  const decoded = Object.hasOwn(escapes, character) ? escapes[character] : undefined;
  if (decoded === undefined) {
    throw new FilterError(text, {
      reason: `unknown escape ${quoteName(`\\${character}`)}; escapes are \\" \\' \\\\ \\/ \\b \\f \\n \\r \\t and \\u with four hexadecimal digits`,
      offset,
      length: 1 + character.length,
    });
  }
  return { text: decoded, length: 2 };
}
