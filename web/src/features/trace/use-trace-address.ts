import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";
import type { RunsSearch } from "./project-search.ts";

const route = getRouteApi("/o/$tenantId/projects/p/$projectId");

/** A member that is `undefined` goes out of the address. */
export type TraceChange = { readonly [Name in keyof RunsSearch]?: RunsSearch[Name] | undefined };

/** The state of the open trace in the address, and a function to change it. */
export function useTraceAddress(): {
  readonly search: RunsSearch;
  readonly change: (change: TraceChange) => void;
} {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/o/$tenantId/projects/p/$projectId" });
  const change = useCallback(
    (part: TraceChange) =>
      void navigate({
        search: (known) => withoutAbsent({ ...known, ...part }),
        // Walking through a trace leaves one step in the history, not one for each run.
        replace: true,
      }),
    [navigate],
  );
  return { search, change };
}

const withoutAbsent = (search: TraceChange): RunsSearch =>
  Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined));
