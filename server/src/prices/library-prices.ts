import type { calcPrice as CalcPrice, findProvider as FindProvider } from "@pydantic/genai-prices";
import { BoundedMap } from "./bounded-map.ts";
import type { ModelPrices, PriceKind, Rate } from "./model-prices.ts";

interface Library {
  readonly calcPrice: typeof CalcPrice;
  readonly findProvider: typeof FindProvider;
}

let library: Library | undefined;

/**
 * Loads the library of public prices, which takes about 40 ms: a server starts without it. Must have resolved before
 * prices are looked up.
 */
export async function loadLibraryPrices(): Promise<void> {
  library ??= await import("@pydantic/genai-prices");
}

/**
 * Thrown if a price is looked up before {@link loadLibraryPrices} has resolved. The lookup can be repeated afterwards.
 */
export class PricesNotLoadedError extends Error {}

/** The public price of a model. */
export interface LibraryPrice {
  readonly provider: string;
  readonly model: string;
  readonly prices: ModelPrices;
}

interface CachedPrice {
  /**
   * The price stays the same within each period of this length. Periods begin at multiples of it. Infinite if the price
   * never changes.
   */
  readonly periodMs: number;
  /** `undefined` if the library does not contain the provider or the model. */
  readonly price: LibraryPrice | undefined;
}

const minuteMs = 60_000;
const dayMs = 86_400_000;
/** Maximum number of models whose prices are cached. */
const maxCachedModels = 2_000;

/**
 * The library's ids of providers, by names that the library does not recognize or takes for another provider. Most are
 * names from OpenTelemetry's conventions. Azure has prices of its own for OpenAI's models.
 */
const providerIdsByName: ReadonlyMap<string, string> = new Map([
  ["az.ai.inference", "azure"],
  ["az.ai.openai", "azure"],
  ["azure-openai", "azure"],
  ["azure.ai.inference", "azure"],
  ["azure.ai.openai", "azure"],
  ["azure_openai", "azure"],
  ["gcp.gen_ai", "google"],
  ["x_ai", "x-ai"],
]);

const toProviderId = (provider: string): string =>
  providerIdsByName.get(provider.trim().toLowerCase()) ?? provider;

/**
 * Returns the library's ids of a provider, such as `google` for `google_genai`; an empty list if it has no such
 * provider. OpenAI's models on Azure have two ids: the one of Azure, whose prices apply, and the one of OpenAI.
 */
export function listProviderIds(provider: string): readonly string[] {
  const ids = [toProviderId(provider), provider].flatMap(
    (providerId) => readLibrary().findProvider({ providerId })?.id ?? [],
  );
  return [...new Set(ids)];
}

export interface ListedPrice extends LibraryPrice {
  /** The name of the provider, such as "OpenAI"; `provider` is its id. */
  readonly providerName: string;
}

/** Lists the public prices of the models of providers at a time. Takes a tenth of a second for all providers. */
export const listProviderPrices = (
  providerIds: readonly string[],
  timeMs: number,
): readonly ListedPrice[] =>
  providerIds.flatMap((providerId) => {
    const provider = readLibrary().findProvider({ providerId });
    return (provider?.models ?? []).flatMap(({ id }) => {
      const price = lookUp(id, providerId, timeMs).price;
      // Leave out ids that the library does not find as the name of a model: no run can have their prices.
      return price?.model === id ? [{ ...price, providerName: provider?.name ?? providerId }] : [];
    });
  });

/** Looks up public prices. A lookup searches all models of a provider, so results are cached by model. */
export class LibraryPrices {
  readonly #cache = new BoundedMap<CachedPrice>(maxCachedModels);

  /**
   * Finds the price of a model at a time; `undefined` if the library does not contain the provider or the model.
   * Without a provider, the provider is inferred from the model's name.
   */
  find(model: string, provider: string | null, timeMs: number): LibraryPrice | undefined {
    const key = `${provider ?? ""}\n${model}`;
    const latest = this.#cache.get(key);
    const cached =
      latest === undefined || latest.periodMs === Number.POSITIVE_INFINITY
        ? latest
        : this.#cache.get(createPeriodKey(key, latest.periodMs, timeMs));
    if (cached !== undefined) {
      return cached.price;
    }
    const foundPrice = lookUp(model, provider, timeMs);
    this.#cache.set(key, foundPrice);
    if (foundPrice.periodMs !== Number.POSITIVE_INFINITY) {
      this.#cache.set(createPeriodKey(key, foundPrice.periodMs, timeMs), foundPrice);
    }
    return foundPrice.price;
  }
}

const createPeriodKey = (key: string, periodMs: number, timeMs: number): string =>
  `${key}\n${Math.floor(timeMs / periodMs)}`;

/**
 * Providers that the library does not infer from the names of all of their models: for example, it does not infer
 * OpenAI from the names of OpenAI's embedding models. No other provider has models with these names.
 */
const inferredProviders: readonly string[] = ["openai", "cohere", "perplexity"];

/**
 * Whether a model's name is an id of the library, with or without a suffix. Other names only resemble one of its
 * models.
 */
const isNamedAfter = (model: string, id: string | undefined): boolean =>
  id !== undefined && model.toLowerCase().startsWith(id);

function lookUp(model: string, provider: string | null, timeMs: number): CachedPrice {
  const { calcPrice } = readLibrary();
  const timestamp = new Date(timeMs);
  // The cost is computed by `compute-cost.ts`, which also returns its parts. The library only finds the prices.
  const findAt = (providerId: string): ReturnType<typeof CalcPrice> =>
    calcPrice({}, model, { timestamp, providerId });
  const result =
    provider === null
      ? (calcPrice({}, model, { timestamp }) ??
        inferredProviders.map(findAt).find((found) => isNamedAfter(model, found?.model.id)) ??
        null)
      : findAt(toProviderId(provider));
  if (result === null) {
    return { periodMs: Number.POSITIVE_INFINITY, price: undefined };
  }
  return {
    periodMs: findPeriod(result.model.prices),
    price: {
      provider: result.provider.id,
      model: result.model.id,
      prices: toModelPrices(result.model_price),
    },
  };
}

function readLibrary(): Library {
  if (library === undefined) {
    throw new PricesNotLoadedError("the library of prices is not loaded");
  }
  return library;
}

/** Returns how long a price stays the same: prices may begin on a day, or apply only at some times of the day. */
function findPeriod(prices: NonNullable<ReturnType<typeof CalcPrice>>["model"]["prices"]): number {
  if (!Array.isArray(prices)) {
    return Number.POSITIVE_INFINITY;
  }
  return prices.every(
    ({ constraint }) => constraint === undefined || constraint.type === "start_date",
  )
    ? dayMs
    : minuteMs;
}

/** The library's names of prices. The library has more prices, for quantities that runs do not report. */
const libraryNames: Readonly<Record<PriceKind, string>> = {
  input: "input_mtok",
  output: "output_mtok",
  cache_read: "cache_read_mtok",
  cache_write: "cache_write_mtok",
  cache_write_1h: "cache_write_1h_mtok",
  input_audio: "input_audio_mtok",
  output_audio: "output_audio_mtok",
  reasoning: "output_reasoning_mtok",
  request: "requests_kcount",
};

const toModelPrices = (prices: Readonly<Record<string, Rate | undefined>>): ModelPrices =>
  Object.fromEntries(
    Object.entries(libraryNames).flatMap(([kind, name]) => {
      const rate = prices[name];
      return rate === undefined ? [] : [[kind, sortTiers(rate)]];
    }),
  );

const sortTiers = (rate: Rate): Rate =>
  typeof rate === "number"
    ? rate
    : { base: rate.base, tiers: rate.tiers.toSorted((a, b) => a.start - b.start) };
