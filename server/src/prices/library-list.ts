import { listProviderPrices } from "./library-prices.ts";
import type { ListedPrice } from "./library-prices.ts";
import type { LibraryPricePage, LibraryPriceSearch } from "./price.ts";

/** The ids of the providers in the library of public prices, which can't list them itself. */
export const libraryProviders: readonly string[] = [
  "anthropic",
  "arcee",
  "avian",
  "aws",
  "azure",
  "baseten",
  "cerebras",
  "cloudflare",
  "cohere",
  "cursor",
  "deepseek",
  "doubleword",
  "fireworks",
  "github-copilot",
  "google",
  "groq",
  "huggingface_cerebras",
  "huggingface_fireworks-ai",
  "huggingface_groq",
  "huggingface_hyperbolic",
  "huggingface_nebius",
  "huggingface_novita",
  "huggingface_nscale",
  "huggingface_ovhcloud",
  "huggingface_publicai",
  "huggingface_sambanova",
  "huggingface_together",
  "minimax",
  "mistral",
  "modal",
  "moonshotai",
  "novita",
  "openai",
  "openrouter",
  "ovhcloud",
  "perplexity",
  "quicksilverpro",
  "together",
  "typesafe",
  "voyageai",
  "x-ai",
  "zai",
  "zhipuai",
];

/** Milliseconds for which the list is cached. Only a few prices depend on the time. */
const cacheMs = 3_600_000;

let cachedList: { readonly timeMs: number; readonly prices: readonly ListedPrice[] } | undefined;

/** Lists the public prices whose model or provider contains a text. Upper and lower case make no difference. */
export function listLibraryPrices(search: LibraryPriceSearch): LibraryPricePage {
  const text = search.text.toLowerCase();
  const matchingPrices = listAll(search.timeMs).filter(({ model, provider, providerName }) =>
    [model, provider, providerName].some((name) => name.toLowerCase().includes(text)),
  );
  return {
    prices: matchingPrices.slice(search.offset, search.offset + search.limit),
    total: matchingPrices.length,
  };
}

function listAll(timeMs: number): readonly ListedPrice[] {
  if (cachedList === undefined || Math.abs(timeMs - cachedList.timeMs) > cacheMs) {
    cachedList = { timeMs, prices: listProviderPrices(libraryProviders, timeMs) };
  }
  return cachedList.prices;
}
