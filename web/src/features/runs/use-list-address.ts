import { getRouteApi } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { RunListQuery } from "./queries.ts";
import { runFields } from "./run-columns.tsx";
import { selectedMax } from "./run-list-search.ts";
import type { RunListSearch } from "./run-list-search.ts";
import { toTimeRange } from "./time-range.ts";

const route = getRouteApi("/o/$tenantId/projects/p/$projectId");

export type ListChanges = {
  readonly [Name in keyof RunListSearch]: RunListSearch[Name] | undefined;
};

export const noTimes: ListChanges = { last: undefined, from: undefined, to: undefined };

export const toSort = (column: string, order: "asc" | "desc"): RunListSearch["sort"] => {
  if (column === "latency") {
    return `latency-${order}`;
  }
  return order === "asc" ? "start-asc" : undefined;
};

/** The state of the list in the address, as a query, and a function to change it. */
export function useListAddress(projectId: string) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { filter = "", all, last, from, to, sort = "start-desc", selected = [] } = search;
  // More ids than fit into an address stay here.
  const [many, setMany] = useState<ReadonlySet<string>>();
  const [now, setNow] = useState(Date.now);
  const change = (changes: ListChanges): void => {
    setNow(Date.now());
    void navigate({
      search: (old) =>
        Object.fromEntries(
          Object.entries({ ...old, ...changes }).filter(([, value]) => value !== undefined),
        ),
      replace: "selected" in changes,
    });
  };
  const query = useMemo((): RunListQuery => {
    const [by, order] = sort.split("-") as ["start" | "latency", "asc" | "desc"];
    return {
      projectId,
      filter,
      isRoot: all !== true,
      range: toTimeRange({ last, from, to }, now),
      sort: by,
      order,
      select: runFields,
    };
  }, [projectId, filter, all, last, from, to, sort, now]);
  const selectedText = selected.join(",");
  const ids = useMemo(
    () => many ?? new Set(selectedText === "" ? [] : selectedText.split(",")),
    [many, selectedText],
  );
  const select = (next: ReadonlySet<string>): void => {
    const isMany = next.size > selectedMax;
    setMany(isMany ? next : undefined);
    change({ selected: isMany || next.size === 0 ? undefined : [...next] });
  };
  return { query, change, ids, select };
}
