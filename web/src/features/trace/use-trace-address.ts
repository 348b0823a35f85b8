import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";
import type { RunsSearch } from "./project-search.ts";

const route = getRouteApi("/o/$tenantId/projects/p/$projectId");

/** The search parameters of the URL to change. A parameter that is `undefined` is removed. */
export type TraceChange = { readonly [Name in keyof RunsSearch]?: RunsSearch[Name] | undefined };

/** The state of the open trace, which is stored in the URL, and a function to change it. */
export function useTraceAddress(): {
  readonly search: RunsSearch;
  readonly change: (change: TraceChange) => void;
} {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/o/$tenantId/projects/p/$projectId" });
  const change = useCallback(
    (changes: TraceChange) =>
      void navigate({
        search: (current) => omitUndefined({ ...current, ...changes }),
        // Replace the history entry, so that the Back button leaves the trace instead of selecting earlier runs.
        replace: true,
      }),
    [navigate],
  );
  return { search, change };
}

const omitUndefined = (search: TraceChange): RunsSearch =>
  Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined));
