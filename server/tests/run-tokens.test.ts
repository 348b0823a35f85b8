import { expect, test } from "vitest";
import { readTokens } from "../src/view/run-tokens.ts";

const tokensOf = (members: Readonly<Record<string, unknown>>): unknown =>
  readTokens(
    new Map(
      Object.entries(members).map(([name, value]) => [name, Buffer.from(JSON.stringify(value))]),
    ),
  );

const counted = { total_tokens: 7, prompt_tokens: 3, completion_tokens: 4 };
const none = { total_tokens: null, prompt_tokens: null, completion_tokens: null };
const usage = { input_tokens: 3, output_tokens: 4, total_tokens: 7 };
const camel = { promptTokens: 3, completionTokens: 4, totalTokens: 7 };

test.each([
  ["the outputs", { outputs: { usage_metadata: usage } }],
  ["the metadata", { extra: { metadata: { usage_metadata: usage } } }],
  ["the outputs of older models", { outputs: { llmOutput: { tokenUsage: camel } } }],
  ["the outputs of older models in Python", { outputs: { llm_output: { token_usage: counted } } }],
])("tokens are read from %s", (_, members) => {
  expect(tokensOf(members)).toEqual(counted);
});

test("the outputs come before the metadata, number by number", () => {
  const members = {
    outputs: { usage_metadata: { input_tokens: 1, output_tokens: "many" } },
    extra: { metadata: { usage_metadata: usage } },
  };
  expect(tokensOf(members)).toEqual({ ...counted, prompt_tokens: 1 });
});

test.each([
  [{}],
  [{ outputs: null }],
  [{ outputs: "usage_metadata" }],
  [{ outputs: { usage_metadata: [3] } }],
  [{ outputs: { tokenUsage: camel } }],
])("%j reports none", (members) => {
  expect(tokensOf(members)).toEqual(none);
});
