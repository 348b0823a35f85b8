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
    "eq(name, 'a",
    "not(".repeat(20_000),
    `${"not(".repeat(100)}exists(error)${")".repeat(100)}`,
  ]) {
    expect(toPlainFilter(text)).toBe(text);
  }
});
