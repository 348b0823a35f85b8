import { calcPrice, findProvider } from "@pydantic/genai-prices";
import { assert, constantFrom, integer, property, tuple } from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import type { TokenDetails } from "../../runs/usage/run-cost.ts";
import { computeCost } from "../compute-cost.ts";
import { LibraryPrices, loadLibraryPrices } from "../library-prices.ts";

beforeAll(loadLibraryPrices);

const noDetails: TokenDetails = {
  cacheRead: 0,
  cacheWrite: 0,
  cacheWriteHour: 0,
  inputAudio: 0,
  reasoning: 0,
  outputAudio: 0,
};

const prices = {
  input: 2,
  output: 8,
  cache_read: 0.5,
  cache_write: 2.5,
  cache_write_1h: 4,
  input_audio: 40,
  output_audio: 80,
  reasoning: 10,
};

const costOf = (
  inputTokens: number,
  outputTokens: number,
  details: Partial<TokenDetails> = {},
  given: Parameters<typeof computeCost>[1] = prices,
) => computeCost({ inputTokens, outputTokens, details: { ...noDetails, ...details } }, given);

describe("the cost of a model call", () => {
  test("is the input tokens and the output tokens at their prices", () => {
    expect(costOf(1_000_000, 500_000)).toEqual({
      total: 6,
      prompt: 2,
      completion: 4,
      input: {},
      output: {},
    });
  });

  test("counts cached, audio and reasoning tokens at their own prices, and only once", () => {
    const details = { cacheRead: 200_000, cacheWrite: 100_000, cacheWriteHour: 40_000 };
    expect(
      costOf(1_000_000, 100_000, {
        ...details,
        inputAudio: 10_000,
        reasoning: 50_000,
        outputAudio: 10_000,
      }),
    ).toEqual({
      // 690,000 other input tokens, and 40,000 other output tokens.
      prompt: 1.38 + 0.1 + 0.31 + 0.4,
      completion: 0.32 + 0.5 + 0.8,
      total: 3.81,
      input: { cache_read: 0.1, cache_creation: 0.31, audio: 0.4 },
      output: { reasoning: 0.5, audio: 0.8 },
    });
  });

  test("uses the price of the tokens that they are part of for kinds without a price", () => {
    const details = { cacheRead: 200_000, cacheWrite: 100_000, reasoning: 50_000 };
    expect(costOf(1_000_000, 100_000, details, { input: 2, output: 8 })).toMatchObject({
      prompt: 2,
      completion: 0.8,
      input: { cache_read: 0.4, cache_creation: 0.2 },
      output: { reasoning: 0.4 },
    });
  });

  test("uses the tier that the input tokens exceed, for all tokens", () => {
    const tiered = {
      input: { base: 1, tiers: [{ start: 200_000, price: 2 }] },
      output: { base: 10, tiers: [{ start: 200_000, price: 15 }] },
    };
    expect(costOf(200_000, 100_000, {}, tiered)).toMatchObject({ prompt: 0.2, completion: 1 });
    expect(costOf(200_001, 100_000, {}, tiered)).toMatchObject({
      prompt: 0.400002,
      completion: 1.5,
    });
  });

  test("includes the price of the request in the total", () => {
    expect(costOf(0, 0, {}, { input: 1, request: 5 })).toMatchObject({
      total: 0.005,
      prompt: 0,
      completion: 0,
    });
  });

  test.each([
    [
      costOf(100, 1, { cacheRead: 60, cacheWrite: 50 }),
      /110 tokens \(cache_read, cache_creation\) are more than the 100 input tokens/,
    ],
    [
      costOf(100, 10, { reasoning: 11 }),
      /11 tokens \(reasoning\) are more than the 10 output tokens/,
    ],
    [costOf(1e308, 10), /1e\+308 is not a number of input tokens/],
    [costOf(-1, 10), /-1 is not a number of input tokens/],
    [costOf(10, 10, { outputAudio: -5 }), /-5 is not a number of output tokens/],
    [costOf(10, 10, {}, { input: 1 }), /no price for output tokens/],
  ])("is unknown if the usage contradicts itself or a price is missing: %#", (cost, reason) => {
    expect(cost).toEqual({ reason: expect.stringMatching(reason) as string });
  });
});

const isNear =
  (expected = 0) =>
  (cost: number | undefined): boolean =>
    Math.abs((cost ?? 0) - expected) < 1e-9;

test("the cost of any usage is that of the library, for models of all large providers", () => {
  const library = new LibraryPrices();
  const models = ["openai", "anthropic", "google", "aws", "x-ai", "deepseek", "mistral"].flatMap(
    (providerId) =>
      (findProvider({ providerId })?.models ?? []).map(({ id }) => ({ providerId, id })),
  );
  expect(models.length).toBeGreaterThan(200);
  const count = integer({ min: 0, max: 300_000 });
  let comparedCount = 0;
  assert(
    property(
      constantFrom(...models),
      tuple(count, count, count, count, count),
      ({ providerId, id }, [rest, cacheRead, cacheWrite, outputTokens, time]) => {
        const inputTokens = rest + cacheRead + cacheWrite;
        const timestamp = new Date(1_790_000_000_000 + time * 1_000);
        const usage = {
          input_tokens: inputTokens,
          output_tokens: outputTokens,
          cache_read_tokens: cacheRead,
          cache_write_tokens: cacheWrite,
        };
        const expected = calcPrice(usage, id, { providerId, timestamp });
        const found = library.find(id, providerId, timestamp.getTime());
        const cost =
          found === undefined
            ? undefined
            : computeCost(
                { inputTokens, outputTokens, details: { ...noDetails, cacheRead, cacheWrite } },
                found.prices,
              );
        // Some models have no price for input or output tokens, but one for images or seconds.
        const isComparable = cost !== undefined && "total" in cost;
        comparedCount += isComparable ? 1 : 0;
        expect(found === undefined).toBe(expected === null);
        expect(isComparable ? cost.total : expected?.total_price).toSatisfy(
          isNear(expected?.total_price),
        );
        expect(isComparable ? cost.prompt : expected?.input_price).toSatisfy(
          isNear(expected?.input_price),
        );
      },
    ),
    { numRuns: 1_000 },
  );
  expect(comparedCount).toBeGreaterThan(700);
});
