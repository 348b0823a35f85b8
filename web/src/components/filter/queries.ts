import { queryOptions } from "@tanstack/react-query";
import type { FilterLanguage } from "millrace/model";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { getJson, postJson } from "../../api/http.ts";

const languagePath = toEndpointPath("/ui/filters/words");
const checkPath = toEndpointPath("/ui/filters/check");

/** The functions and fields of the filter language. They don't change while the server runs. */
export const filterLanguageQuery = queryOptions({
  queryKey: ["filter-words"],
  queryFn: async ({ signal }) => parseFilterLanguage(await getJson(languagePath, signal)),
  staleTime: Infinity,
});

/** Lets the server check a filter. The result is its first error, or `null` for a valid filter. */
export const createFilterFaultQuery = (resource: "runs" | "examples", filter: string) =>
  queryOptions({
    queryKey: ["filter-fault", resource, filter],
    queryFn: async ({ signal }) =>
      parseFilterFault(await postJson(checkPath, { of: resource, filter }, signal)) ?? null,
    staleTime: Infinity,
    gcTime: 60_000,
  });

/** A syntax error or unknown name in a filter. */
export interface FilterFault {
  readonly reason: string;
  /** Offset and length of the invalid part, in characters. */
  readonly offset: number;
  readonly length: number;
}

/** @throws TypeError the response does not describe the filter language. */
function parseFilterLanguage(
  value: unknown,
): Readonly<Record<"runs" | "examples", FilterLanguage>> {
  const { runs, examples } = value as Readonly<Record<string, FilterLanguage | undefined>>;
  if (runs === undefined || examples === undefined) {
    throw new TypeError("The response does not describe the filter language.");
  }
  return { runs, examples };
}

/** Returns `undefined` for a valid filter. */
function parseFilterFault(value: unknown): FilterFault | undefined {
  const { fault } = value as { readonly fault?: Partial<FilterFault> | null };
  return typeof fault?.reason === "string"
    ? { reason: fault.reason, offset: fault.offset ?? 0, length: fault.length ?? 1 }
    : undefined;
}
