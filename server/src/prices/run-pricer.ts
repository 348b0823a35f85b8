import { isModelCall, roundCost } from "../runs/usage/run-cost.ts";
import type {
  CostBasis,
  PricedUsage,
  ReportedUsage,
  RunBilling,
  TokenDetails,
  UnknownCost,
} from "../runs/usage/run-cost.ts";
import type { RunMeasures } from "../runs/usage/measures.ts";
import type { RunPrices } from "../runs/run-writer-dependencies.ts";
import { usageCosts } from "../runs/usage/usage-sources.ts";
import { computeCost } from "./compute-cost.ts";
import type { NoCost, UsageCost } from "./compute-cost.ts";
import { BoundedMap } from "./bounded-map.ts";
import { LibraryPrices, listProviderIds } from "./library-prices.ts";
import type { ModelPrices } from "./model-prices.ts";
import type { CallPrice, PricedCall } from "./price.ts";
import { PriceTable } from "./price-table.ts";
import type { PriceRow } from "./price-table.ts";

type PricedRun = Parameters<RunPrices["price"]>[1];

/** The price that applies to a model call. */
interface FoundPrice {
  readonly source: "library" | "table";
  readonly provider: string | null;
  readonly model: string;
  readonly prices: ModelPrices;
  readonly factor: number;
}

/** Service tiers for which these providers charge half of their standard prices. The library has no such prices. */
const halfPriceTiers: ReadonlyMap<string, readonly string[]> = new Map([
  ["anthropic", ["batch"]],
  ["azure", ["batch"]],
  ["google", ["batch", "flex"]],
  ["openai", ["batch", "flex"]],
]);

/** Computes the costs of runs from a tenant's price table and the library of public prices. */
export class RunPricer implements RunPrices {
  readonly #library = new LibraryPrices();
  readonly #readTable: (tenantId: string) => readonly PriceRow[];
  readonly #tables = new Map<string, PriceTable>();
  readonly #providers = new BoundedMap<readonly string[]>(maxCachedProviders);

  /** @param readTable - reads the rows of a tenant's price table */
  constructor(readTable: (tenantId: string) => readonly PriceRow[]) {
    this.#readTable = readTable;
  }

  clearCache(): void {
    this.#tables.clear();
  }

  price(tenantId: string, run: PricedRun, { measures, billing }: ReportedUsage): PricedUsage {
    if (usageCosts.some((name) => measures[name] !== null)) {
      return { measures: addReportedTotal(measures), basisJson: null };
    }
    if (billing === undefined || !isModelCall(run.runType)) {
      return { measures, basisJson: null };
    }
    const { prompt_tokens: inputTokens } = measures;
    // An embedding has no output.
    const outputTokens = measures.completion_tokens ?? (run.runType === "embedding" ? 0 : null);
    if (inputTokens === null || outputTokens === null) {
      const reason = "The run does not report both its input and its output tokens.";
      return withoutCost(measures, { reason });
    }
    const foundPrice = this.#findPrice(tenantId, run, billing);
    if ("reason" in foundPrice) {
      const { reason, unknownModel } = foundPrice;
      const [model] = billing.models;
      return { ...withoutCost(measures, { reason, ...(model && { model }) }), unknownModel };
    }
    const { details, serviceTier = null } = billing;
    const cost = computeCost(
      { inputTokens, outputTokens, details },
      foundPrice.prices,
      foundPrice.factor,
    );
    return "reason" in cost
      ? withoutCost(measures, { reason: cost.reason })
      : withCost(measures, cost, { ...foundPrice, serviceTier });
  }

  /** Computes the cost of a call that was not recorded as a run. */
  priceCall(tenantId: string, call: PricedCall): CallPrice {
    const { model, provider, inputTokens, outputTokens, timeMs } = call;
    const details: TokenDetails = {
      cacheRead: call.cacheRead ?? 0,
      cacheWrite: call.cacheWrite ?? 0,
      cacheWriteHour: 0,
      inputAudio: 0,
      reasoning: call.reasoning ?? 0,
      outputAudio: 0,
    };
    const run = { runType: "llm", startMicros: timeMs * 1_000 };
    const billing = { models: [model], provider, serviceTier: null, details };
    const foundPrice = this.#findPrice(tenantId, run, billing);
    if ("reason" in foundPrice) {
      return { reason: foundPrice.reason };
    }
    const cost = computeCost(
      { inputTokens, outputTokens, details },
      foundPrice.prices,
      foundPrice.factor,
    );
    return "reason" in cost
      ? cost
      : { total: cost.total, prompt: cost.prompt, completion: cost.completion };
  }

  /** Finds the price under any of the model's names. The tenant's table takes precedence. */
  #findPrice(
    tenantId: string,
    { startMicros }: PricedRun,
    billing: RunBilling,
  ): FoundPrice | (NoCost & { readonly unknownModel: string }) {
    const { models, provider, serviceTier: tier = null } = billing;
    const [firstModel = ""] = models;
    if (models.length === 0) {
      return { reason: "The run does not name its model.", unknownModel: "(no model)" };
    }
    const table = this.#findTable(tenantId);
    const providers = this.#listProviders(provider);
    let reason: string | undefined;
    for (const tierOfRow of tier === null ? [null] : [tier, null]) {
      for (const model of models) {
        const row = table.find({ model, providers, tier: tierOfRow }, startMicros);
        const factor = row && findFactor(providers, tier === tierOfRow ? null : tier);
        if (row !== undefined && factor !== undefined) {
          const { prices, model: pattern } = row;
          return { source: "table", provider: row.provider, model: pattern, prices, factor };
        }
      }
    }
    for (const model of models) {
      const libraryPrice = this.#library.find(model, provider, startMicros / 1_000);
      if (libraryPrice !== undefined) {
        const { prices, ...name } = libraryPrice;
        const factor = findFactor([libraryPrice.provider], tier);
        if (factor !== undefined && prices.input !== undefined) {
          return { source: "library", ...name, prices, factor };
        }
        reason ??=
          factor === undefined
            ? `No price is known for the service tier ${JSON.stringify(tier)} of the model ${JSON.stringify(model)}.`
            : `The model ${JSON.stringify(model)} has no price per input token.`;
      }
    }
    const ofProvider = provider === null ? "" : ` of the provider ${JSON.stringify(provider)}`;
    reason ??= `No price is known for the model ${JSON.stringify(firstModel)}${ofProvider}.`;
    return { reason, unknownModel: firstModel };
  }

  /** Returns the names of a provider: the one that the run reports, and those in the library. */
  #listProviders(provider: string | null): readonly string[] {
    if (provider === null) {
      return [];
    }
    const cached = this.#providers.get(provider);
    const names = cached ?? [provider.toLowerCase(), ...listProviderIds(provider)];
    if (cached === undefined) {
      this.#providers.set(provider, names);
    }
    return names;
  }

  #findTable(tenantId: string): PriceTable {
    const cached = this.#tables.get(tenantId);
    if (cached !== undefined) {
      return cached;
    }
    const table = new PriceTable(this.#readTable(tenantId));
    if (this.#tables.size >= maxCachedTables) {
      this.#tables.clear();
    }
    this.#tables.set(tenantId, table);
    return table;
  }
}

const maxCachedProviders = 500;
/** Maximum number of tenants whose tables are in memory. */
const maxCachedTables = 200;

/** Returns the factor by which a tier changes the standard price; `undefined` if it is not known. */
function findFactor(providers: readonly string[], tier: string | null): number | undefined {
  if (tier === null) {
    return 1;
  }
  return providers.some((provider) => halfPriceTiers.get(provider)?.includes(tier) === true)
    ? 0.5
    : undefined;
}

/** Adds the total cost of a run that reports both parts of its cost but not their sum. */
function addReportedTotal(measures: RunMeasures): RunMeasures {
  const { total_cost: total, prompt_cost: prompt, completion_cost: completion } = measures;
  return total !== null || prompt === null || completion === null
    ? measures
    : { ...measures, total_cost: roundCost(prompt + completion) };
}

const withoutCost = (measures: RunMeasures, basis: UnknownCost): PricedUsage => ({
  measures,
  basisJson: JSON.stringify(basis),
});

function withCost(
  measures: RunMeasures,
  { total, prompt, completion, input, output }: UsageCost,
  found: Omit<FoundPrice, "prices"> & { readonly serviceTier: string | null },
): PricedUsage {
  const { source, provider, model, serviceTier } = found;
  const basis: CostBasis = {
    source,
    provider,
    model,
    ...(serviceTier === null ? {} : { tier: serviceTier }),
    input,
    output,
  };
  return {
    measures: {
      ...measures,
      total_cost: total,
      prompt_cost: prompt,
      completion_cost: completion,
    },
    basisJson: JSON.stringify(basis),
  };
}
