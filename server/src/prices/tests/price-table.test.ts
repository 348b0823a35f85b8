import { describe, expect, test } from "vitest";
import { matchesPattern, PriceTable } from "../price-table.ts";
import type { PriceRow } from "../price-table.ts";

test.each([
  ["gpt-4o", "gpt-4o", true],
  ["gpt-4o", "gpt-4o-mini", false],
  ["gpt-4o*", "gpt-4o-mini", true],
  ["*mini", "gpt-4o-mini", true],
  ["*", "", true],
  ["a*a", "a", false],
  ["a*b*c", "a-b-c", true],
  ["a*bb*bc", "abbc", false],
  ["ft:*:acme:*", "ft:gpt-4o:acme:1", true],
  ["ft:*:acme:*", "ft:gpt-4o:other:1", false],
])("the pattern %s and the name %s", (pattern, text, matches) => {
  expect(matchesPattern(pattern, text)).toBe(matches);
});

test("a pattern with many asterisks takes no time", () => {
  const startMs = performance.now();
  expect(matchesPattern("*a".repeat(90), `${"a".repeat(89)}b`.repeat(2))).toBe(false);
  expect(performance.now() - startMs).toBeLessThan(100);
});

const row = (model: string, rest: Partial<PriceRow> = {}): PriceRow => ({
  model,
  provider: null,
  tier: null,
  fromMicros: 0,
  prices: { input: 1 },
  ...rest,
});

describe("of several rows", () => {
  const rows = [
    row("*"),
    row("gpt*"),
    row("gpt-4o*"),
    row("gpt-4o*", { provider: "azure" }),
    row("gpt-4o"),
    row("gpt-4o", { fromMicros: 2_000 }),
    row("gpt-4o", { tier: "batch" }),
  ];
  const find = (model: string, { provider = "openai", micros = 1_000, tier = "" } = {}) =>
    new PriceTable(rows.toReversed()).find(
      { model, providers: [provider], tier: tier === "" ? null : tier },
      micros,
    );

  test("the most specific applies", () => {
    expect(find("other")).toBe(rows[0]);
    expect(find("gpt-3")).toBe(rows[1]);
    expect(find("gpt-4o-mini")).toBe(rows[2]);
    expect(find("gpt-4o-mini", { provider: "azure" })).toBe(rows[3]);
    expect(find("GPT-4o")).toBe(rows[4]);
  });

  test("the latest that has begun applies", () => {
    expect(find("gpt-4o", { micros: 1_999 })).toBe(rows[4]);
    expect(find("gpt-4o", { micros: 2_000 })).toBe(rows[5]);
  });

  test("only those of the run's service tier apply", () => {
    expect(find("gpt-4o", { tier: "batch" })).toBe(rows[6]);
    expect(find("gpt-4o-mini", { tier: "batch" })).toBeUndefined();
  });
});
