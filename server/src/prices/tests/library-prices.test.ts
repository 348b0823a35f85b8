import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { beforeAll, expect, test } from "vitest";
import { libraryProviders } from "../library-list.ts";
import { LibraryPrices, loadLibraryPrices } from "../library-prices.ts";

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
  expect(library.find("gpt-4o", "azure", timeMs)?.provider).toBe("azure");
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
