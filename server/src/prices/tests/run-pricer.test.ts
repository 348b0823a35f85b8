import { beforeAll, describe, expect, test } from "vitest";
import { readReportedUsage } from "../../runs/usage/run-measures.ts";
import type { CostBasis } from "../../runs/usage/run-cost.ts";
import { loadLibraryPrices } from "../library-prices.ts";
import type { PriceRow } from "../price-table.ts";
import { RunPricer } from "../run-pricer.ts";

beforeAll(loadLibraryPrices);

type WireObject = Readonly<Record<string, unknown>>;

const startMicros = Date.UTC(2026, 10, 1) * 1_000;

/** The cost of a run with these members, and how it was determined. */
function priceOf(
  members: WireObject,
  {
    rows = [],
    runType = "llm",
    start = startMicros,
  }: { rows?: readonly PriceRow[]; runType?: string; start?: number } = {},
) {
  const buffers = new Map(
    Object.entries(members).map(([name, value]) => [name, Buffer.from(JSON.stringify(value))]),
  );
  const usage = readReportedUsage(buffers, { withBilling: true });
  if (usage === undefined) {
    throw new Error("the run reports no usage");
  }
  const { measures, basisJson, unknownModel } = new RunPricer(() => rows).price(
    "tenant",
    { runType, startMicros: start },
    usage,
  );
  return {
    total: measures.total_cost,
    prompt: measures.prompt_cost,
    completion: measures.completion_cost,
    basis: basisJson === null ? null : (JSON.parse(basisJson) as CostBasis),
    unknownModel,
  };
}

const used = (input: number, output: number, rest: WireObject = {}): WireObject => ({
  usage_metadata: { input_tokens: input, output_tokens: output, ...rest },
});

const called = (model: string, provider = "openai", metadata: WireObject = {}): WireObject => ({
  metadata: { ls_model_name: model, ls_provider: provider, ...metadata },
});

const unknown = (reason: RegExp) => ({
  total: null,
  prompt: null,
  completion: null,
  basis: { reason: expect.stringMatching(reason) as string },
});

const row = (model: string, rest: Partial<PriceRow> = {}): PriceRow => ({
  model,
  provider: null,
  tier: null,
  fromMicros: 0,
  prices: { input: 10, output: 100 },
  ...rest,
});

describe("public prices", () => {
  test("gpt-4o costs 2.5 dollars per million input tokens and 10 per million output tokens", () => {
    expect(priceOf({ outputs: used(1_000, 100), extra: called("gpt-4o") })).toEqual({
      total: 0.0035,
      prompt: 0.0025,
      completion: 0.001,
      basis: { source: "library", provider: "openai", model: "gpt-4o", input: {}, output: {} },
      unknownModel: undefined,
    });
  });

  test("cached tokens cost less, and reasoning tokens are a part of the output", () => {
    const outputs = used(1_000, 100, {
      input_token_details: { cache_read: 400 },
      output_token_details: { reasoning: 60 },
    });
    expect(priceOf({ outputs, extra: called("gpt-4o") })).toMatchObject({
      prompt: 0.002,
      completion: 0.001,
      basis: { input: { cache_read: 0.0005 }, output: { reasoning: 0.0006 } },
    });
  });

  test("cache writes cost more for an hour, in the form of Anthropic", () => {
    const details = { ephemeral_5m_input_tokens: 1_000, ephemeral_1h_input_tokens: 1_000 };
    expect(
      priceOf({
        outputs: used(3_000, 0, { input_token_details: { ...details, cache_creation: 0 } }),
        extra: called("claude-sonnet-4-5", "anthropic"),
      }),
    ).toMatchObject({
      prompt: 0.01275,
      basis: { input: { cache_creation: 0.00975 } },
    });
  });

  test("long inputs have the price of their tier", () => {
    const extra = called("gemini-2.5-pro", "google_genai");
    expect(priceOf({ outputs: used(200_000, 0), extra })).toMatchObject({ prompt: 0.25 });
    expect(priceOf({ outputs: used(200_001, 0), extra })).toMatchObject({ prompt: 0.5000025 });
  });

  test("a batch costs half, where the run says that it is one", () => {
    const batch = { total: 0.00175, prompt: 0.00125, completion: 0.0005, basis: { tier: "batch" } };
    const outputs = used(1_000, 100);
    const extra = called("gpt-4o");
    const ofMetadata = called("gpt-4o", "openai", { service_tier: "batch" });
    expect(priceOf({ outputs, extra: ofMetadata })).toMatchObject(batch);
    expect(priceOf({ outputs: used(1_000, 100, { service_tier: "batch" }), extra })).toMatchObject(
      batch,
    );
    expect(priceOf({ outputs: { ...outputs, service_tier: "batch" }, extra })).toMatchObject(batch);
    const params = { ...extra, invocation_params: { service_tier: "batch" } };
    expect(priceOf({ outputs, extra: params })).toMatchObject(batch);
    expect(
      priceOf({ outputs: { ...outputs, service_tier: "default" }, extra: params }),
    ).toMatchObject({ total: 0.0035 });
  });

  test("the price of another service tier is unknown", () => {
    const extra = called("gpt-4o", "openai", { service_tier: "priority" });
    expect(priceOf({ outputs: used(1, 1), extra })).toMatchObject(
      unknown(/service tier "priority"/),
    );
    const details = { input_token_details: { priority: 5, priority_cache_read: 2 } };
    expect(priceOf({ outputs: used(7, 1, details), extra: called("gpt-4o") })).toMatchObject(
      unknown(/service tier "priority"/),
    );
  });

  test.each([
    ["the parameters", { extra: { invocation_params: { model: "gpt-4o" } } }],
    ["the response", { outputs: { model: "gpt-4o-2024-08-06" } }],
    ["the output of older models", { outputs: { llm_output: { model_name: "gpt-4o" } } }],
    [
      "the message of a chat model",
      {
        outputs: {
          generations: [[{ message: { kwargs: { response_metadata: { model_name: "gpt-4o" } } } }]],
        },
      },
    ],
    [
      "the response, if the requested name has no price",
      { extra: called("my-deployment"), outputs: { model: "gpt-4o" } },
    ],
  ])("the model is read from %s", (_, { outputs = {}, extra = {} }: WireObject) => {
    const members = { outputs: { ...used(1_000, 100), ...(outputs as WireObject) }, extra };
    expect(priceOf(members)).toMatchObject({ total: 0.0035 });
  });

  test("an embedding has no output", () => {
    const outputs = { usage_metadata: { input_tokens: 1_000_000 } };
    const extra = called("text-embedding-3-small");
    expect(priceOf({ outputs, extra }, { runType: "embedding" })).toMatchObject({ total: 0.02 });
  });

  test("an embedding has a cost without a provider, because its model is known", () => {
    const outputs = { usage_metadata: { input_tokens: 1_000_000 } };
    const extra = { metadata: { ls_model_name: "text-embedding-3-large" } };
    expect(priceOf({ outputs, extra }, { runType: "embedding" })).toMatchObject({
      total: 0.13,
      basis: { provider: "openai", model: "text-embedding-3-large" },
    });
  });

  test("a batch of Azure costs half, under all names of Azure", () => {
    const outputs = used(1_000, 100, { service_tier: "batch" });
    for (const provider of ["azure", "azure.ai.openai", "azure.ai.inference"]) {
      expect(priceOf({ outputs, extra: called("gpt-4o", provider) })).toMatchObject({
        total: 0.00175,
        basis: { provider: "azure" },
      });
    }
  });

  test("the price is that of the time of the run", () => {
    const extra = called("o3");
    const outputs = used(1_000_000, 0);
    const early = priceOf({ outputs, extra }, { start: Date.UTC(2025, 4, 1) * 1_000 });
    const late = priceOf({ outputs, extra }, { start: Date.UTC(2025, 7, 1) * 1_000 });
    expect([early.total, late.total]).toEqual([10, 2]);
  });
});

describe("a cost is unknown, not zero", () => {
  test.each([
    [
      "of an unknown model",
      { outputs: used(1, 1), extra: called("no-such-model") },
      /No price is known for the model "no-such-model" of the provider "openai"/,
    ],
    [
      "of an unknown provider",
      { outputs: used(1, 1), extra: called("llama3", "ollama") },
      /of the provider "ollama"/,
    ],
    ["of a run without a model", { outputs: used(1, 1) }, /does not name its model/],
    [
      "of a run that reports only a total",
      { outputs: { usage_metadata: { total_tokens: 5 } }, extra: called("gpt-4o") },
      /both its input and its output tokens/,
    ],
    [
      "of a run without output tokens",
      { outputs: { usage_metadata: { input_tokens: 5 } }, extra: called("gpt-4o") },
      /both its input and its output tokens/,
    ],
    [
      "of usage that contradicts itself",
      {
        outputs: used(10, 1, { input_token_details: { cache_read: 11 } }),
        extra: called("gpt-4o"),
      },
      /contradicts itself: 11 tokens/,
    ],
    [
      "of usage with a negative number of tokens",
      { outputs: used(-10, 1), extra: called("gpt-4o") },
      /both its input and its output tokens/,
    ],
    [
      "of negative details",
      {
        outputs: used(10, 1, { input_token_details: { cache_read: -1 } }),
        extra: called("gpt-4o"),
      },
      /contradicts itself: -1 /,
    ],
  ])("%s", (_, members, reason) => {
    expect(priceOf(members)).toMatchObject(unknown(reason));
  });

  test("the names of models without a price are reported", () => {
    const { unknownModel } = priceOf({ outputs: used(1, 1), extra: called("no-such-model") });
    expect(unknownModel).toBe("no-such-model");
  });

  test("a run that calls no model has none, whatever usage it repeats", () => {
    const members = { outputs: used(1, 1), extra: called("gpt-4o") };
    expect(priceOf(members, { runType: "chain" })).toMatchObject({ total: null, basis: null });
  });
});

describe("a cost that the run reports", () => {
  const reported = (costs: WireObject) =>
    priceOf({ outputs: used(1_000, 100, costs), extra: called("gpt-4o") });

  test("wins over a price", () => {
    expect(reported({ total_cost: 7 })).toMatchObject({ total: 7, prompt: null, basis: null });
    expect(reported({ total_cost: 0 })).toMatchObject({ total: 0, basis: null });
  });

  test("is summed if the run reports its parts only", () => {
    const parts = { input_cost: 0.1, output_cost: 0.2 };
    expect(reported(parts)).toMatchObject({ total: 0.3, prompt: 0.1, completion: 0.2 });
  });
});

describe("the price table of the operator", () => {
  const members = { outputs: used(1_000, 100), extra: called("gpt-4o") };

  test("wins over public prices", () => {
    expect(priceOf(members, { rows: [row("gpt-4*")] })).toMatchObject({
      total: 0.02,
      basis: { source: "table", provider: null, model: "gpt-4*" },
    });
  });

  test("names the provider as the run or the library does", () => {
    const google = { outputs: used(1_000, 0), extra: called("gemini-x", "google_genai") };
    for (const provider of ["google_genai", "google"]) {
      expect(priceOf(google, { rows: [row("gemini*", { provider })] }).total).toBe(0.01);
    }
    expect(priceOf(google, { rows: [row("gemini*", { provider: "openai" })] }).total).toBeNull();
  });

  test("names Azure's models as the conventions, as the library or as OpenAI's", () => {
    const azure = { outputs: used(1_000, 0), extra: called("gpt-4o", "azure.ai.openai") };
    for (const provider of ["azure.ai.openai", "azure", "openai"]) {
      expect(priceOf(azure, { rows: [row("gpt-4*", { provider })] }).total).toBe(0.01);
    }
  });

  test("applies from its date, and public prices before", () => {
    const rows = [row("gpt-4o", { fromMicros: startMicros })];
    expect(priceOf(members, { rows }).total).toBe(0.02);
    expect(priceOf(members, { rows, start: startMicros - 1 }).total).toBe(0.0035);
  });

  test("has prices of its own for a batch, or half of its standard price", () => {
    const batch = { outputs: used(1_000, 100, { service_tier: "batch" }), extra: called("gpt-4o") };
    const standard = row("gpt-4o");
    expect(priceOf(batch, { rows: [standard] }).total).toBe(0.01);
    const ofBatch = row("gpt-4*", { tier: "batch", prices: { input: 1, output: 1 } });
    expect(priceOf(batch, { rows: [standard, ofBatch] }).total).toBe(0.0011);
    expect(priceOf(members, { rows: [ofBatch] }).total).toBe(0.0035);
  });

  test("prices models that the library does not know", () => {
    const own = { outputs: used(1_000, 100), extra: called("my-model", "vllm") };
    expect(priceOf(own, { rows: [row("my-*", { provider: "vllm" })] }).total).toBe(0.02);
  });
});
