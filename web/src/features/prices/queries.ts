import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { getJson, postJson, putJson } from "../../api/http.ts";
import { parseLibraryPage, parsePrices, parseUsedModels } from "./price.ts";
import type { LibraryPage, Price, PriceKey } from "./price.ts";

const pricesPerPage = 50;

/** The price table of the tenant. */
export const pricesQuery = queryOptions({
  queryKey: ["prices"],
  queryFn: async ({ signal }) => parsePrices(await getJson(toEndpointPath("/ui/prices"), signal)),
});

/** The models of recent calls, with the prices that were used. */
export const usedModelsQuery = queryOptions({
  queryKey: ["priced-models"],
  queryFn: async ({ signal }) =>
    parseUsedModels(await getJson(toEndpointPath("/ui/prices/models"), signal)),
});

/** The public prices whose model or provider contains a text, in pages. */
export const createLibraryQuery = (text: string) =>
  infiniteQueryOptions({
    queryKey: ["library-prices", text],
    queryFn: async ({ pageParam, signal }) => {
      const query = new URLSearchParams({
        q: text,
        limit: String(pricesPerPage),
        offset: String(pageParam),
      });
      return parseLibraryPage(
        await getJson(`${toEndpointPath("/ui/prices/library")}?${query.toString()}`, signal),
      );
    },
    initialPageParam: 0,
    getNextPageParam: ({ total }: LibraryPage, pages) =>
      pages.length * pricesPerPage < total ? pages.length * pricesPerPage : undefined,
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
  });

/** Adds a price to the price table. A price with the same key is replaced. */
export const savePrice = async (price: Price): Promise<unknown> =>
  putJson(toEndpointPath("/ui/prices"), { prices: [price] });

export const deletePrice = async ({ model, provider, tier, from }: PriceKey): Promise<unknown> =>
  postJson(toEndpointPath("/ui/prices/remove"), { model, provider, tier, from });
