import { describe, expect, test } from "vitest";
import { FilterFixture } from "../../../tests/support/filter-fixture.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";
import { printFilter } from "../ast.ts";
import { checkFilter, describeFields } from "../checker.ts";
import { exampleFields, runFields } from "../fields.ts";
import { FilterError } from "../filter-error.ts";
import { readSavedFilter } from "../filter-parameter.ts";
import { parseFilter } from "../infix-parser.ts";

const print = (text: string): string => printFilter(parseFilter(text, describeFields(runFields)));

test("conditions with && and ||, and words after operator words, find the runs that they describe", () => {
  const fixture = new FilterFixture();
  fixture.send({
    post: [
      wireRun({ name: "oil", error: "boom", end_time: "2026-12-01T00:00:00Z", tags: ["x"] }),
      wireRun({ name: "salt", end_time: "2026-12-01T00:00:00Z", tags: ["y"] }),
      wireRun({ name: "open" }),
    ],
  });
  for (const [filter, names] of [
    ['status = error && error contains "boom"', ["oil"]],
    ["status = error || status = pending", ["oil", "open"]],
    ["tags has x", ["oil"]],
    ["error contains BOOM", ["oil"]],
    ["name like oi%", ["oil"]],
    ['tags not has "x"', ["open", "salt"]],
    ["status is error", ["oil"]],
    ["error is not null", ["oil"]],
  ] as const) {
    expect({ filter, names: fixture.find(filter) }).toEqual({ filter, names });
  }
});

describe("&& and || are and and or", () => {
  test.each([
    ["a && b || c", 'or(and(search("a"), search("b")), search("c"))'],
    ["not a && (b||c)", 'and(not(search("a")), search("b||c"))'],
    ["(a)&&(b)", 'and(search("a"), search("b"))'],
    ['"a"||"b"', 'or(search("a"), search("b"))'],
    ["a|| b &&c", 'or(search("a"), and(search("b"), search("c")))'],
    ["status=error&&latency>5s", 'and(eq(status, "error"), gt(latency, "5s"))'],
    ["name=a||name=b||c", 'or(eq(name, "a"), eq(name, "b||c"))'],
    ['name="a"||name="b"', 'or(eq(name, "a"), eq(name, "b"))'],
    ["name=a||exists(metadata.b)", 'or(eq(name, "a"), exists(metadata, "b"))'],
    ['eq(name, "a") && (eq(name, "b") || c)', 'and(eq(name, "a"), or(eq(name, "b"), search("c")))'],
    // Within a word they are part of it: the text may be code or an address.
    ["a&&b", 'search("a&&b")'],
    ["inputs.url = https://a.test/?b&&c", 'eq(inputs.url, "https://a.test/?b&&c")'],
    ['"a && b"', 'search("a && b")'],
  ])("%s is %s", (text, functions) => {
    expect(print(text)).toBe(functions);
  });
});

describe("an operator word after a field takes a word as its value", () => {
  test.each([
    ["tags has x", 'has(tags, "x")'],
    ["tags HAS 5", 'has(tags, "5")'],
    ["tags not has x", 'not(has(tags, "x"))'],
    ['refund tags not has "x"', 'and(search("refund"), not(has(tags, "x")))'],
    ["error not contains null", 'not(search(error, "null"))'],
    ["name not like oi%", 'not(like(name, "oi%"))'],
    ["metadata.user contains ann", 'search(metadata.user, "ann")'],
    ["user like a%", 'like(user, "a%")'],
    ["status is error", 'eq(status, "error")'],
    ['status is "error"', 'eq(status, "error")'],
    ["status IS NOT error", 'neq(status, "error")'],
    ["error is null", "eq(error, null)"],
    ["error IS NOT NULL", "neq(error, null)"],
    ["error is not true", "neq(error, true)"],
    ["is_root is true", "eq(is_root, true)"],
    ["latency gte 5", "gte(latency, 5)"],
    ["latency gt 5 s", 'gt(latency, "5s")'],
    ["status eq error or name neq a", 'or(eq(status, "error"), neq(name, "a"))'],
    ["not error contains a", 'not(search(error, "a"))'],
    ["(error contains a)", 'search(error, "a")'],
    ['error contains a "b c"', 'and(search(error, "a"), search("b c"))'],
    ['error contains a search("b")', 'and(search(error, "a"), search("b"))'],
    ["error contains a not b", 'and(search(error, "a"), not(search("b")))'],
    ["error contains a tags has b", 'and(search(error, "a"), has(tags, "b"))'],
    ["error contains a latency > 5", 'and(search(error, "a"), gt(latency, 5))'],
    ["status = error error contains a", 'and(eq(status, "error"), search(error, "a"))'],
    ['"a" error contains b', 'and(search("a"), search(error, "b"))'],
    ["a or error contains b", 'or(search("a"), search(error, "b"))'],
  ])("%s is %s", (text, functions) => {
    expect(print(text)).toBe(functions);
    expect(() => checkFilter(text, runFields)).not.toThrow();
  });

  test.each([
    "the error contains nothing",
    "why is status error",
    "refund error contains a",
    "not the error contains a",
    "Project has failed",
    "answer contains nothing",
    "error in parsing",
    "error contains",
    "error contains or a",
    "error: boom",
    "Error:boom",
    "answer:42",
    "model::gpt",
    "id://x",
    "https://a.test:80/b",
  ])("%s searches for words, because no condition begins there", (text) => {
    const isText = (word: string): boolean => word !== "not" && word !== "or";
    const words = text.split(" ").filter(isText);
    expect(print(text).match(/search\(/g)).toHaveLength(words.length);
    expect(() => checkFilter(text, runFields)).not.toThrow();
  });

  test("the fields are those of the list", () => {
    expect(checkFilter("tags has x", exampleFields)).toMatchObject({ kind: "and" });
    expect(checkFilter("split has x", exampleFields)).toMatchObject({ comparator: "has" });
  });
});

describe("a word that can't be meant as a text is refused with what to write", () => {
  test.each<[string, string, number]>([
    [
      "status:error",
      'a field and its value need an operator between them: write status = error, or "status:error" in quotes to search for this text',
      0,
    ],
    [
      "refund error:boom",
      'a field and its value need an operator between them: write error = boom or error contains boom, or "error:boom" in quotes to search for this text',
      7,
    ],
    [
      'error:"a b"',
      'a field and its value need an operator between them: write error = "a b" or error contains "a b"',
      0,
    ],
    ["status:(error)", "a field and its value need an operator between them: write status = …", 0],
    [
      "status contains err",
      "contains can't be used with `status`; it takes =, !=, in; to search for these words, put them in quotes",
      7,
    ],
    [
      "latency > 5 and error has occurred",
      "has can't be used with `error`; it takes =, !=, in, like, contains; to search for these words, put them in quotes",
      22,
    ],
    [
      "inputs is x",
      "is can't be used with `inputs`; it takes has, contains; to search for these words, put them in quotes",
      7,
    ],
    [
      "error contains no rows and a",
      'a value of several words needs quotes: write error contains "no rows"; to search for all of these words, put them in quotes',
      15,
    ],
    [
      "name not like a b latency > 5",
      'a value of several words needs quotes: write name not like "a b"; to search for all of these words, put them in quotes',
      14,
    ],
    ["status is not very good", "a value of several words needs quotes", 14],
    ["error contains (a or b)", "expected a word or a quoted text after contains, found (", 15],
    ["tags has [a, b]", "expected a word or a quoted text after has, found [", 9],
    [
      "status = error &&",
      "expected a word or a condition such as latency > 5s, found the end of the filter",
      17,
    ],
    ["|| a", "expected a word or a condition such as latency > 5s, found `||`", 0],
    ["name = && a", "expected a value, found `&&`", 7],
    ["total_tokens is many", "`total_tokens` takes a number, or null", 16],
  ])("%s", (text, reason, offset) => {
    expect(() => checkFilter(text, runFields)).toThrow(FilterError);
    expect(() => checkFilter(text, runFields)).toThrow(
      expect.objectContaining({ offset, message: expect.stringContaining(reason) as unknown }),
    );
  });
});

test("a filter that was saved when these words were searched for still searches for them", () => {
  for (const [text, functions] of [
    ["status:error", 'search("status:error")'],
    ["error has occurred", 'and(search("error"), search("has"), search("occurred"))'],
    ["|| a", 'and(search("||"), search("a"))'],
    ["status = error &&", 'and(eq(status, "error"), search("&&"))'],
  ] as const) {
    expect(() => checkFilter(text, runFields)).toThrow(FilterError);
    expect(readSavedFilter(runFields, text)).toBe(functions);
    expect(() => checkFilter(functions, runFields)).not.toThrow();
  }
  // Unchanged: what is valid, and what never was.
  for (const text of ["error contains a", "a && b", "nam = a", "latency >", ""]) {
    expect(readSavedFilter(runFields, text)).toBe(text);
  }
});
