import { queryOptions } from "@tanstack/react-query";
import type { uiEndpoints } from "millrace/model";
import { parseFilterFault, parseFilterWords } from "./filter-words.ts";
import { getJson, postJson } from "../../api/http.ts";

const wordsPath: (typeof uiEndpoints)["readFilterWords"]["path"] = "/ui/filters/words";
const checkPath: (typeof uiEndpoints)["checkFilter"]["path"] = "/ui/filters/check";

/** What filters are written with; the same as long as the server runs. */
export const filterWordsQuery = queryOptions({
  queryKey: ["filter-words"],
  queryFn: async ({ signal }) => parseFilterWords(await getJson(wordsPath, signal)),
  staleTime: Infinity,
});

/** Where a filter has a fault; `null` where it has none. */
export const filterFaultQuery = (of: "runs" | "examples", filter: string) =>
  queryOptions({
    queryKey: ["filter-fault", of, filter],
    queryFn: async ({ signal }) =>
      parseFilterFault(await postJson(checkPath, { of, filter }, signal)) ?? null,
    staleTime: Infinity,
    gcTime: 60_000,
  });
