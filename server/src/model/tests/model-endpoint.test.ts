import { describe, expect, test } from "vitest";
import { parseModelEndpoints, toKeyVariable } from "../model-endpoint.ts";

const parse = (url: string) => parseModelEndpoints([{ name: "m", url }])[0];

describe("the address of an endpoint", () => {
  test.each([
    ["https://api.openai.com/v1", "openai", "https://api.openai.com/v1/chat/completions", false],
    ["https://a.test/v1/chat/completions/", "openai", "https://a.test/v1/chat/completions", false],
    ["https://a.test/v1/responses", "openai-responses", "https://a.test/v1/responses", false],
    [
      "openai-responses+https://a.test/v1",
      "openai-responses",
      "https://a.test/v1/responses",
      false,
    ],
    ["https://api.anthropic.com", "anthropic", "https://api.anthropic.com/v1/messages", false],
    ["anthropic+https://a.test/v1/", "anthropic", "https://a.test/v1/messages", false],
    [
      "https://a.test/v1?api-version=2",
      "openai",
      "https://a.test/v1/chat/completions?api-version=2",
      false,
    ],
    ["http://localhost:11434/v1", "openai", "http://localhost:11434/v1/chat/completions", true],
    ["http://[::1]:80/v1", "openai", "http://[::1]/v1/chat/completions", true],
    ["http://10.0.0.7/v1", "openai", "http://10.0.0.7/v1/chat/completions", true],
    ["https://vllm.internal/v1", "openai", "https://vllm.internal/v1/chat/completions", true],
    ["private+anthropic+https://a.test", "anthropic", "https://a.test/v1/messages", true],
  ])("%s calls %s at %s; a private address: %s", (address, protocol, url, allowsPrivateAddress) => {
    expect(parse(address)).toMatchObject({ protocol, url, allowsPrivateAddress });
  });

  test.each([
    ["ftp://a.test/v1"],
    ["a.test/v1"],
    ["gemini+https://a.test"],
    ["openai+anthropic+https://a.test"],
    ["https://user:secret@a.test/v1"],
    ["https://a.test/v1#secret"],
    ["https://"],
  ])("%s is refused, and the error contains no password", (address) => {
    expect(() => parse(address)).toThrow(/^the address of the model endpoint m must (?!.*secret)/);
  });
});

test("names that would share the variable of their key are refused, and unusable ones", () => {
  expect(toKeyVariable("gpt-5.mini")).toBe("MILLRACE_MODEL_KEY_GPT_5_MINI");
  const url = "https://a.test";
  expect(() =>
    parseModelEndpoints([
      { name: "a-b", url },
      { name: "A.b", url },
    ]),
  ).toThrow(/a-b and A\.b would have the same variable.*MILLRACE_MODEL_KEY_A_B/);
  for (const name of ["", "1a", "a b", "a/b", "a".repeat(33)]) {
    expect(() => parseModelEndpoints([{ name, url }])).toThrow(/^the name of a model endpoint/);
  }
  expect(() => parseModelEndpoints([{ name: "a", url, apiKey: "with space" }])).toThrow(
    /^the key of the model endpoint a must be/,
  );
  expect(() => parseModelEndpoints([{ name: "a", url, apiKey: "with space" }])).not.toThrow(
    /with space/,
  );
});
