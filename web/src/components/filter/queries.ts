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

/** Checks a filter on the server. The filter may consist of words, comparisons and functions. */
export const createFilterCheckQuery = (resource: "runs" | "examples", filter: string) =>
  queryOptions({
    queryKey: ["filter-check", resource, filter],
    queryFn: async ({ signal }) =>
      parseFilterCheck(await postJson(checkPath, { of: resource, filter }, signal)),
    staleTime: Infinity,
    gcTime: 60_000,
  });

/** The result of a check: either an error, or the same filter written with functions only. */
export interface FilterCheck {
  readonly fault: FilterFault | undefined;
  readonly functions: string | undefined;
}

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

function parseFilterCheck(value: unknown): FilterCheck {
  const { fault, functions } = value as {
    readonly fault?: Partial<FilterFault> | null;
    readonly functions?: unknown;
  };
  return {
    fault:
      typeof fault?.reason === "string"
        ? { reason: fault.reason, offset: fault.offset ?? 0, length: fault.length ?? 1 }
        : undefined,
    functions: typeof functions === "string" ? functions : undefined,
  };
}
