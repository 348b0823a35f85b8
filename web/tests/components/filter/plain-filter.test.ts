import { expect, test } from "vitest";
import { toPlainFilter } from "../../../src/components/filter/plain-filter.ts";
import { plainFilters } from "../../support/plain-filters.ts";

test.each(plainFilters)("%s is written as %s", (functions, plain) => {
  expect(toPlainFilter(functions)).toBe(plain);
});

test("what is no complete function is not changed", () => {
  for (const text of [
    "model = gpt-5 and latency > 5s",
    "",
    "refund",
    'and(eq(name, "a")',
    'and(eq(name, "a")) or',
    "and()",
    'constructor(name, "a")',
    "eq(name, 'a",
    "not(".repeat(20_000),
    `${"not(".repeat(100)}exists(error)${")".repeat(100)}`,
  ]) {
    expect(toPlainFilter(text)).toBe(text);
  }
});

test("a field that is named like a connective keeps the form of a function", () => {
  expect(toPlainFilter('and(has(not, "a"), eq(or, 5), eq(name, "b"))')).toBe(
    'has(not, "a") and eq(or, 5) and name = b',
  );
});

test("a filter that would become longer than the server accepts is not changed", () => {
  const createFilter = (keyLength: number): string => {
    const parts = Array.from({ length: 250 }, (_, index) => `${"k".repeat(keyLength)}${index}`);
    return `and(${parts.map((key) => `exists(metadata.${key})`).join(",")})`;
  };
  expect(toPlainFilter(createFilter(14))).toMatch(/^exists\(metadata\.k+0\) and exists\(/);
  expect(createFilter(18).length).toBeLessThanOrEqual(10_000);
  expect(toPlainFilter(createFilter(18)) === createFilter(18)).toBe(true);
});
