import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  formatRate,
  hasSameKey,
  parseLibraryPage,
  parsePrices,
  parseRateText,
  parseUsedModels,
} from "../../../src/features/prices/price.ts";

describe("the text of a price", () => {
  test.each([
    ["2.5", 2.5],
    [".5", 0.5],
    [" 0 ", 0],
    ["2, 4 above 200000", { base: 2, tiers: [{ start: 200_000, price: 4 }] }],
    [
      "1,2 above 3,.5 above 10",
      {
        base: 1,
        tiers: [
          { start: 3, price: 2 },
          { start: 10, price: 0.5 },
        ],
      },
    ],
    ["", undefined],
    ["  ", undefined],
  ])("%j is read", (text, rate) => {
    expect(parseRateText(text)).toEqual(rate);
  });

  test.each([
    "x",
    "-1",
    "1e3",
    "2 above 5",
    "2, 4",
    "2, above 5",
    ", 4 above 5",
    "2,",
    "$2",
    "1 000",
  ])("%j is refused with an example of what is allowed", (text) => {
    expect(parseRateText(text)).toEqual({
      fault: "Enter US dollars, such as 2.5, or prices by input tokens, such as 2, 4 above 200000.",
    });
  });

  test("what is written is read as the same price", () => {
    const price = fc.integer({ min: 0, max: 1_000_000 }).map((cents) => cents / 100);
    const tiers = fc.array(fc.record({ start: fc.nat(), price }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(fc.oneof(price, fc.record({ base: price, tiers })), (rate) => {
        expect(parseRateText(formatRate(rate))).toEqual(rate);
      }),
    );
  });
});

test("models without a price come first, then those with the most calls", () => {
  const row = (model: string, price: string, calls: number) => ({ model, price, calls, cost: 1 });
  const { models } = parseUsedModels({
    models: [
      row("a", "library", 9),
      row("b", "none", 1),
      row("c", "table", 10),
      row("d", "none", 2),
    ],
    days: 30,
    is_complete: true,
  });
  expect(models.map(({ model }) => model)).toEqual(["d", "b", "c", "a"]);
});

test("rows are the same if the server would take them for the same", () => {
  const key = { model: "gpt-4o*", provider: "azure", tier: null, from: null };
  expect(hasSameKey(key, { ...key, model: " GPT-4o* ", provider: "Azure", tier: "standard" })).toBe(
    true,
  );
  expect(hasSameKey(key, { ...key, from: "2026-01-01" })).toBe(false);
  expect(hasSameKey(key, { ...key, provider: null })).toBe(false);
});

test("responses of another form are refused, and unknown kinds of prices left out", () => {
  expect(() => parsePrices({})).toThrow("The response contains no list of prices.");
  expect(() => parseLibraryPage({ prices: [{}] })).toThrow('no text "model"');
  expect(() => parseUsedModels([])).toThrow("no list of models");
  expect(
    parsePrices({
      prices: [
        {
          model: "m",
          prices: {
            input: 1,
            output: { base: 2, tiers: [{ start: 1, price: 3 }] },
            odd: 4,
            reasoning: "x",
          },
        },
      ],
    }),
  ).toEqual([
    {
      model: "m",
      provider: null,
      tier: null,
      from: null,
      prices: { input: 1, output: { base: 2, tiers: [{ start: 1, price: 3 }] } },
    },
  ]);
});
