import { highlightTree, tagHighlighter, tags } from "@lezer/highlight";
import { parser as javascript } from "@lezer/javascript";
import { parser as json } from "@lezer/json";
import { parser as python } from "@lezer/python";

/** The kinds of tokens that have a color. Each is the name of a highlight, whose color is in code.css. */
type TokenKind = "code-keyword" | "code-string" | "code-number" | "code-comment" | "code-type";

/** A colored part of some code: the characters from `start` up to, but not including, `end`. */
export interface CodeToken {
  readonly kind: TokenKind;
  readonly start: number;
  readonly end: number;
}

const typescript = javascript.configure({ dialect: "ts jsx" });

/** Parsers by the names of languages that are usual in Markdown. */
const parsers = {
  js: javascript,
  javascript,
  mjs: javascript,
  jsx: typescript,
  ts: typescript,
  tsx: typescript,
  typescript,
  json,
  py: python,
  python,
} as const;

/** The maximum length of code that is parsed: parsing longer code would block the page noticeably. */
const maxCodeChars = 50_000;

const highlighter = tagHighlighter([
  { tag: [tags.keyword, tags.self, tags.bool, tags.null, tags.atom], class: "code-keyword" },
  { tag: [tags.string, tags.regexp, tags.special(tags.string)], class: "code-string" },
  { tag: tags.number, class: "code-number" },
  { tag: tags.comment, class: "code-comment" },
  { tag: [tags.typeName, tags.className, tags.propertyName], class: "code-type" },
] satisfies readonly { tag: unknown; class: TokenKind }[]);

/** Finds the tokens of code. Returns none if the language is not known, or the code is too long. */
export function findTokens(code: string, language: string): readonly CodeToken[] {
  const name = language.toLowerCase();
  if (!Object.hasOwn(parsers, name) || code.length > maxCodeChars) {
    return [];
  }
  const tokens: CodeToken[] = [];
  const tree = parsers[name as keyof typeof parsers].parse(code);
  highlightTree(tree, highlighter, (start, end, kind) => {
    tokens.push({ kind: kind as TokenKind, start, end });
  });
  return tokens;
}
