import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { beforeAll, expect, test } from "vitest";
import { libraryProviders } from "../library-list.ts";
import { LibraryPrices, listProviderIds, loadLibraryPrices } from "../library-prices.ts";

beforeAll(loadLibraryPrices);

test("a cached price applies only while it is valid", () => {
  const library = new LibraryPrices();
  const inputOf = (model: string, provider: string | null, time: string): unknown =>
    library.find(model, provider, Date.parse(time))?.prices.input;
  for (const _ of ["looked up", "cached"]) {
    expect(inputOf("gpt-4o", "openai", "2026-01-01T00:00:00Z")).toBe(2.5);
    // A price that changed on a day.
    expect(inputOf("o3", "openai", "2025-06-09T23:59:59Z")).toBe(10);
    expect(inputOf("o3", "openai", "2025-06-10T00:00:00Z")).toBe(2);
    // A price that changes at 16:30 each day.
    expect(inputOf("deepseek-chat", "deepseek", "2026-01-01T16:29:59Z")).toBe(0.27);
    expect(inputOf("deepseek-chat", "deepseek", "2026-01-01T16:30:00Z")).toBe(0.135);
    expect(inputOf("deepseek-chat", "deepseek", "2026-01-02T16:29:00Z")).toBe(0.27);
  }
});

test("the provider is inferred from the model only if none is named", () => {
  const library = new LibraryPrices();
  const timeMs = Date.UTC(2026, 0, 1);
  expect(library.find("claude-sonnet-4-5", null, timeMs)?.provider).toBe("anthropic");
  expect(library.find("claude-sonnet-4-5", "ollama", timeMs)).toBeUndefined();
  expect(library.find("no-such-model", null, timeMs)).toBeUndefined();
  expect(library.find("my-moderation-model", null, timeMs)).toBeUndefined();
  expect(library.find("gpt-4o", "azure", timeMs)?.provider).toBe("azure");
});

test.each([
  ["text-embedding-3-small", 0.02],
  ["text-embedding-3-large", 0.13],
  ["text-embedding-ada-002", 0.1],
])("the provider is also inferred from %s, which the library can't do", (model, input) => {
  const found = new LibraryPrices().find(model, null, Date.UTC(2026, 0, 1));
  expect(found).toMatchObject({ provider: "openai", model, prices: { input } });
});

test.each([
  ["anthropic", "anthropic", "claude-sonnet-4-5"],
  ["aws.bedrock", "aws", "anthropic.claude-sonnet-4-5-20250929-v1:0"],
  ["az.ai.inference", "azure", "gpt-4o"],
  ["az.ai.openai", "azure", "gpt-4o"],
  ["azure.ai.inference", "azure", "gpt-4o"],
  ["azure.ai.openai", "azure", "gpt-4o"],
  ["cohere", "cohere", "command-r-plus"],
  ["deepseek", "deepseek", "deepseek-chat"],
  ["gcp.gemini", "google", "gemini-2.5-pro"],
  ["gcp.gen_ai", "google", "gemini-2.5-pro"],
  ["gcp.vertex_ai", "google", "gemini-2.5-pro"],
  ["gemini", "google", "gemini-2.5-pro"],
  ["groq", "groq", "llama-3.1-8b-instant"],
  ["mistral_ai", "mistral", "mistral-large-latest"],
  ["openai", "openai", "gpt-4o"],
  ["perplexity", "perplexity", "sonar"],
  ["vertex_ai", "google", "gemini-2.5-pro"],
  ["x_ai", "x-ai", "grok-3"],
  ["xai", "x-ai", "grok-3"],
  ["X_AI", "x-ai", "grok-3"],
])("%s of OpenTelemetry is the provider %s", (name, provider, model) => {
  expect(listProviderIds(name)[0]).toBe(provider);
  const library = new LibraryPrices();
  const found = library.find(model, name, Date.UTC(2026, 0, 1));
  expect(found).toEqual(library.find(model, provider, Date.UTC(2026, 0, 1)));
  expect(found?.prices.input).toBeDefined();
});

test("the library knows no provider of these names", () => {
  expect(listProviderIds("ibm.watsonx.ai")).toEqual([]);
  expect(listProviderIds("ollama")).toEqual([]);
  expect(listProviderIds("azure.ai.openai")).toEqual(["azure", "openai"]);
});

test("all providers of the library are listed", async () => {
  const { resolve } = createRequire(import.meta.url);
  const code = await readFile(resolve("@pydantic/genai-prices"), "utf8");
  // Each provider has a pattern of addresses, which is also named once in the code that reads it.
  const count = (code.match(/\bapi_pattern\b"?:/g) ?? []).length;
  const { findProvider } = await import("@pydantic/genai-prices");
  expect(libraryProviders.map((providerId) => findProvider({ providerId })?.id)).toEqual(
    libraryProviders,
  );
  expect(libraryProviders).toHaveLength(count);
});
