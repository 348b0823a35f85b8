import { queryOptions } from "@tanstack/react-query";
import type { FilterWords } from "millrace/model";
import { endpointPath } from "../../api/endpoint-path.ts";
import { getJson, postJson } from "../../api/http.ts";

const wordsPath = endpointPath("/ui/filters/words");
const checkPath = endpointPath("/ui/filters/check");

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

/** Where a filter can't be read, and why. */
export interface FilterFault {
  readonly reason: string;
  readonly offset: number;
  readonly length: number;
}

/** @throws TypeError the server answered something else. */
function parseFilterWords(value: unknown): Readonly<Record<"runs" | "examples", FilterWords>> {
  const { runs, examples } = value as Readonly<Record<string, FilterWords | undefined>>;
  if (runs === undefined || examples === undefined) {
    throw new TypeError("the server's answer holds no words of filters");
  }
  return { runs, examples };
}

/** `undefined` where the filter has none. */
function parseFilterFault(value: unknown): FilterFault | undefined {
  const { fault } = value as { readonly fault?: Partial<FilterFault> | null };
  return typeof fault?.reason === "string"
    ? { reason: fault.reason, offset: fault.offset ?? 0, length: fault.length ?? 1 }
    : undefined;
}
