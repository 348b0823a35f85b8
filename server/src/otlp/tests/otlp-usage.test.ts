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
      input_token_details: { cache_read: 2 },
      output_token_details: { reasoning: 5 },
    });
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
});
