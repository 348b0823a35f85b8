import { describe, expect, test } from "vitest";
import { mapped } from "../../../tests/support/otlp-spans.ts";

type Members = Readonly<Record<string, unknown>>;

const metadataOf = (attributes: object): Members =>
  (mapped({ attributes })["extra"] as { metadata: Members }).metadata;

describe("usage", () => {
  const usageOf = (attributes: object): unknown => {
    const run = mapped({ attributes });
    const { usage_metadata: usage } = (run["outputs"] ?? {}) as Members;
    expect((run["extra"] as { metadata: Members }).metadata["usage_metadata"]).toEqual(usage);
    return usage;
  };

  test.each([
    [{ "gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 4 }],
    [{ "gen_ai.usage.prompt_tokens": 3, "gen_ai.usage.completion_tokens": 4 }],
    [{ "llm.token_count.prompt": 3, "llm.token_count.completion": 4, "llm.token_count.total": 7 }],
    [{ "langsmith.usage_metadata": '{"input_tokens": 3, "output_tokens": 4}' }],
    [{ "gen_ai.usage.input_tokens": "3", "gen_ai.usage.output_tokens": "4" }],
  ])("of %j is 3, 4 and 7 tokens", (attributes) => {
    expect(usageOf(attributes)).toEqual({ input_tokens: 3, output_tokens: 4, total_tokens: 7 });
  });

  test("includes its details", () => {
    const attributes = {
      "gen_ai.usage.input_tokens": 3,
      "gen_ai.usage.cache_read.input_tokens": 2,
      "llm.token_count.completion_details.reasoning": 5,
    };
    expect(usageOf(attributes)).toEqual({
      input_tokens: 3,
      total_tokens: 3,
      input_token_details: { cache_read: 2 },
      output_token_details: { reasoning: 5 },
    });
  });

  test("has the sum of the tokens that are reported as total, unless a total is", () => {
    expect(usageOf({ "gen_ai.usage.input_tokens": 3 })).toEqual({
      input_tokens: 3,
      total_tokens: 3,
    });
    expect(usageOf({ "llm.token_count.completion": 4 })).toEqual({
      output_tokens: 4,
      total_tokens: 4,
    });
    expect(usageOf({ "langsmith.usage_metadata": '{"input_tokens": 3}' })).toMatchObject({
      total_tokens: 3,
    });
    const reported = { "llm.token_count.prompt": 3, "llm.token_count.total": 9 };
    expect(usageOf(reported)).toEqual({ input_tokens: 3, total_tokens: 9 });
  });

  test("is absent if nothing or no number was reported", () => {
    expect(usageOf({})).toBeUndefined();
    const attributes = { "gen_ai.usage.input_tokens": "many" };
    expect(usageOf(attributes)).toBeUndefined();
    expect(metadataOf(attributes)).toMatchObject(attributes);
  });

  test("that the outputs already contain stays unchanged", () => {
    const attributes = {
      "gen_ai.completion": '{"usage_metadata": {"input_tokens": 1}}',
      "gen_ai.usage.input_tokens": 3,
    };
    expect(mapped({ attributes })["outputs"]).toEqual({ usage_metadata: { input_tokens: 1 } });
  });

  test.each([
    ["gen_ai.usage.cache_write.input_tokens", "cache_creation"],
    ["gen_ai.usage.cache_creation.input_tokens", "cache_creation"],
    ["gen_ai.usage.cache_creation_input_tokens", "cache_creation"],
    ["gen_ai.usage.cache_read.input_tokens", "cache_read"],
    ["gen_ai.usage.cache_read_input_tokens", "cache_read"],
    ["gen_ai.usage.input_tokens.cached", "cache_read"],
    ["llm.token_count.prompt_details.cache_write", "cache_creation"],
  ])("has %s as %s, which is within the input tokens", (name, detail) => {
    const attributes = {
      "gen_ai.usage.input_tokens": 10,
      "gen_ai.usage.output_tokens": 5,
      [name]: 4,
    };
    expect(usageOf(attributes)).toEqual({
      input_tokens: 10,
      output_tokens: 5,
      total_tokens: 15,
      input_token_details: { [detail]: 4 },
    });
    expect(metadataOf(attributes)).not.toHaveProperty([name]);
  });

  test("reads the new and the old name of the same count once", () => {
    const attributes = {
      "gen_ai.usage.input_tokens": 10,
      "gen_ai.usage.prompt_tokens": 10,
      "gen_ai.usage.cache_write.input_tokens": 4,
      "gen_ai.usage.cache_creation.input_tokens": 4,
      "gen_ai.usage.cache_read.input_tokens": 5,
    };
    expect(usageOf(attributes)).toEqual({
      input_tokens: 10,
      total_tokens: 10,
      input_token_details: { cache_read: 5, cache_creation: 4 },
    });
  });

  test("adds cached tokens that can't be within the input tokens, because they are more", () => {
    const attributes = {
      "gen_ai.usage.input_tokens": 3,
      "gen_ai.usage.output_tokens": 7,
      "gen_ai.usage.total_tokens": 10,
      "gen_ai.usage.cache_read.input_tokens": 100,
      "gen_ai.usage.cache_write.input_tokens": 20,
    };
    expect(usageOf(attributes)).toMatchObject({ input_tokens: 123, total_tokens: 130 });
    const given = '{"input_tokens": 3, "input_token_details": {"cache_read": 100}}';
    expect(usageOf({ "langsmith.usage_metadata": given })).toMatchObject({ input_tokens: 3 });
  });

  test.each([[-1], [1e300], [0.5], ["many"], [true], [[1]], [9_007_199_254_740_993n]])(
    "of %s tokens is not counted, and stays in the metadata with a warning",
    (value) => {
      const name = "gen_ai.usage.input_tokens";
      expect(usageOf({ [name]: value, "gen_ai.usage.output_tokens": 4 })).toEqual({
        output_tokens: 4,
        total_tokens: 4,
      });
      const metadata = metadataOf({ [name]: value });
      expect(metadata).toHaveProperty([name]);
      expect(metadata["otel.warnings"]).toEqual([
        expect.stringMatching(/^gen_ai\.usage\.input_tokens is not a number of tokens: /),
      ]);
    },
  );

  test.each([
    [
      { "llm.cost.prompt": 0.1, "llm.cost.completion": "0.2", "llm.cost.total": 1 },
      { input_cost: 0.1, output_cost: 0.2, total_cost: 1 },
    ],
    [{ "gen_ai.usage.cost": 0.25 }, { total_cost: 0.25 }],
    [{ "llm.cost.total": 0 }, { total_cost: 0 }],
    [
      { "gen_ai.usage.cost": 1, "langsmith.usage_metadata": '{"total_cost": 0.50}' },
      { total_cost: 0.5 },
    ],
  ])("has the costs that %j reports", (attributes, costs) => {
    expect(usageOf(attributes)).toEqual(costs);
    expect(metadataOf(attributes)).not.toHaveProperty(["llm.cost.total"]);
  });

  test.each([[-1], ["free"], [""], [true], [[1]], ["Infinity"], [1e300]])(
    "has no cost of %j dollars, which stays in the metadata with a warning",
    (value) => {
      const name = "llm.cost.total";
      expect(usageOf({ [name]: value, "gen_ai.usage.output_tokens": 4 })).toEqual({
        output_tokens: 4,
        total_tokens: 4,
      });
      const metadata = metadataOf({ [name]: value });
      expect(metadata).toHaveProperty([name]);
      expect(metadata["otel.warnings"]).toEqual([
        expect.stringMatching(/^llm\.cost\.total is not a cost in US dollars: /),
      ]);
    },
  );
});
