import { expect, test } from "vitest";
import { findTokens } from "../../../src/components/code/code-tokens.ts";

const tokensOf = (code: string, language: string): readonly string[] =>
  findTokens(code, language).map(({ kind, start, end }) => `${kind} ${code.slice(start, end)}`);

test("the tokens of TypeScript, Python and JSON are found, by the names that Markdown uses", () => {
  expect(tokensOf('const name: string = "a"; // first', "ts")).toEqual([
    "code-keyword const",
    "code-type string",
    'code-string "a"',
    "code-comment // first",
  ]);
  expect(tokensOf("def add(a):\n    return a + 1", "Python")).toEqual([
    "code-keyword def",
    "code-keyword return",
    "code-number 1",
  ]);
  expect(tokensOf('{ "a": [1, true, null] }', "json")).toEqual([
    'code-type "a"',
    "code-number 1",
    "code-keyword true",
    "code-keyword null",
  ]);
});

test.each(["", "brainfuck", "constructor", "__proto__"])(
  "code in the language %j has no tokens",
  (language) => {
    expect(findTokens("const a = 1", language)).toEqual([]);
  },
);

test("code that is too long or malformed is not colored, or only in part", () => {
  expect(findTokens("1 ".repeat(25_001), "js")).toEqual([]);
  expect(tokensOf('{ "a": ', "json")).toEqual(['code-type "a"']);
});
