import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import { toTimeRange } from "../../components/time/time-range.ts";
import type { RunListQuery } from "./queries.ts";
import { runFields } from "./run-columns.tsx";
import { maxUrlSelection } from "./run-list-search.ts";
import type { RunListSearch } from "./run-list-search.ts";

const route = getRouteApi("/o/$tenantId/projects/p/$projectId");

/** Changes to the search parameters of the URL. A parameter that is `undefined` is removed. */
export type ListChanges = {
  readonly [Name in keyof RunListSearch]: RunListSearch[Name] | undefined;
};

/** The changes that remove the time range from the URL. */
export const removedTimeRange: ListChanges = { last: undefined, from: undefined, to: undefined };

/** Converts a column and an order to the `sort` parameter of the URL; `undefined` for the default, newest first. */
export const toSort = (column: string, order: "asc" | "desc"): RunListSearch["sort"] => {
  if (column === "latency") {
    return `latency-${order}`;
  }
  return order === "asc" ? "start-asc" : undefined;
};

/**
 * Converts the state of the run list in the URL to a query and a set of selected ids. Also returns functions to change
 * the state and the selection.
 */
export function useListAddress(projectId: string) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { filter = "", all, last, from, to, sort = "start-desc", selected = [] } = search;
  // A selection that is too large for the URL is stored only in this state.
  const [largeSelection, setLargeSelection] = useState<ReadonlySet<string>>();
  const [now, setNow] = useState(Date.now);
  const change = useCallback(
    (changes: ListChanges): void => {
      setNow(Date.now());
      void navigate({
        search: (current) =>
          Object.fromEntries(
            Object.entries({ ...current, ...changes }).filter(([, value]) => value !== undefined),
          ),
        replace: "selected" in changes,
      });
    },
    [navigate],
  );
  const query = useMemo((): RunListQuery => {
    const [sortField, order] = sort.split("-") as ["start" | "latency", "asc" | "desc"];
    return {
      projectId,
      filter,
      isRoot: all !== true,
      range: toTimeRange({ last, from, to }, now),
      sort: sortField,
      order,
      select: runFields,
    };
  }, [projectId, filter, all, last, from, to, sort, now]);
  const selectedText = selected.join(",");
  const selectedIds = useMemo(
    () => largeSelection ?? new Set(selectedText === "" ? [] : selectedText.split(",")),
    [largeSelection, selectedText],
  );
  const changeSelection = (newSelection: ReadonlySet<string>): void => {
    const isLarge = newSelection.size > maxUrlSelection;
    setLargeSelection(isLarge ? newSelection : undefined);
    change({ selected: isLarge || newSelection.size === 0 ? undefined : [...newSelection] });
  };
  return { query, change, ids: selectedIds, select: changeSelection };
}
