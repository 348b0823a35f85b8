import { comparators } from "./ast.ts";
import type { Comparator } from "./ast.ts";
import { quoteName } from "./filter-error.ts";
import type { Span } from "./filter-error.ts";
import { readText } from "./lexer.ts";
import type { PunctuationMark } from "./lexer.ts";
import type { CommonToken } from "./token-reader.ts";

/** The smallest unit of a filter with operators. Everything that is not another kind of token is a word. */
export type InfixToken =
  | CommonToken
  | (Span &
      (
        | { readonly kind: "word"; readonly word: string }
        | { readonly kind: "operator"; readonly comparator: Comparator }
        /** `&&` or `||`, which are other forms of `and` and `or`. */
        | { readonly kind: "connective"; readonly word: "and" | "or" }
      ));

const operators: Readonly<Record<string, Comparator>> = {
  "=": "eq",
  "==": "eq",
  "!=": "neq",
  "<>": "neq",
  ">": "gt",
  ">=": "gte",
  "<": "lt",
  "<=": "lte",
};

const connectives: Readonly<Record<string, "and" | "or" | undefined>> = {
  "&&": "and",
  "||": "or",
};
const connectiveMarks = { and: "&&", or: "||" } as const;
const connectivePattern = /(&&|\|\|)/;

/** The functions of filters. */
export const functionNames: ReadonlySet<string> = new Set(["and", "or", "not", ...comparators]);

const tokenPattern =
  /\s*(?:(?<mark>[()[\],])|(?<operator>[<>!=]=|<>|[<>=])|(?<word>[^\s()[\],"<>=]+))/y;

/**
 * Splits a filter into tokens.
 *
 * @param hasConnectives - whether `&&` and `||` are read as `and` and `or`, and not as parts of words.
 * @throws FilterError a text has no closing quote, or contains an unknown escape.
 */
export function tokenize(text: string, hasConnectives: boolean): readonly InfixToken[] {
  const tokens: InfixToken[] = [];
  const end = text.trimEnd().length;
  for (let position = 0; position < end;) {
    const start = position + (/^\s*/.exec(text.slice(position, end))?.[0].length ?? 0);
    const token: InfixToken = isQuote(text.charAt(start))
      ? readText(text, start)
      : readToken(text, start);
    tokens.push(token);
    position = token.offset + token.length;
  }
  return hasConnectives
    ? tokens.flatMap((token, index) => splitAtConnectives(token, tokens[index + 1]))
    : tokens;
}

/**
 * Splits a word at `&&` and `||`. Between two letters they are part of the word, which may be code or an address,
 * unless a comparison or a function follows, as in `status=error&&latency>5s`.
 */
function splitAtConnectives(
  token: InfixToken,
  following: InfixToken | undefined,
): readonly InfixToken[] {
  if (token.kind !== "word" || !connectivePattern.test(token.word)) {
    return [token];
  }
  const pieces = splitText(token.word.split(connectivePattern), token.offset);
  const lastPiece = pieces.at(-1);
  const isBeforeCondition =
    following?.kind === "operator" ||
    (following?.kind === "mark" &&
      following.mark === "(" &&
      following.offset === token.offset + token.length &&
      lastPiece?.kind === "word" &&
      functionNames.has(lastPiece.word));
  if (isBeforeCondition) {
    return pieces;
  }
  const first = pieces.findIndex(({ kind }) => kind === "word");
  const last = pieces.findLastIndex(({ kind }) => kind === "word");
  if (first === -1) {
    return pieces;
  }
  const offset = pieces[first]?.offset ?? token.offset;
  const innerEnd = pieces[last + 1]?.offset ?? token.offset + token.length;
  const word = token.word.slice(offset - token.offset, innerEnd - token.offset);
  const inner = { kind: "word", word, offset, length: word.length } as const;
  return [...pieces.slice(0, first), inner, ...pieces.slice(last + 1)];
}

/** Creates the tokens of the pieces of a word, leaving out empty ones. */
function splitText(pieces: readonly string[], start: number): readonly InfixToken[] {
  let offset = start;
  return pieces.flatMap((piece): readonly InfixToken[] => {
    const span = { offset, length: piece.length };
    offset += piece.length;
    const word = connectives[piece];
    if (word !== undefined) {
      return [{ kind: "connective", word, ...span }];
    }
    return piece === "" ? [] : [{ kind: "word", word: piece, ...span }];
  });
}

const isQuote = (character: string): boolean => character === '"' || character === "'";

function readToken(text: string, offset: number): InfixToken {
  tokenPattern.lastIndex = offset;
  const { mark, operator, word = "" } = tokenPattern.exec(text)?.groups ?? {};
  if (mark !== undefined) {
    return { kind: "mark", mark: mark as PunctuationMark, offset, length: 1 };
  }
  const comparator = operator === undefined ? undefined : operators[operator];
  return operator !== undefined && comparator !== undefined
    ? { kind: "operator", comparator, offset, length: operator.length }
    : { kind: "word", word, offset, length: word.length };
}

/** Describes a token in an error. */
export function describeInfixToken(token: InfixToken): string {
  switch (token.kind) {
    case "word":
      return quoteName(token.word);
    case "text":
      return "a quoted text";
    case "connective":
      return quoteName(connectiveMarks[token.word]);
    case "operator":
      return "an operator";
    case "mark":
      return token.mark;
    case "end":
      return "the end of the filter";
  }
}
