import { Button } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { getRouteApi } from "@tanstack/react-router";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useMemo, useState } from "react";
import type { ReactNode, RefObject } from "react";
import { createCostFormat } from "../../components/text/cost.ts";
import { createFilterCheckQuery } from "../../components/filter/queries.ts";
import type { FilterFault } from "../../components/filter/queries.ts";
import { useCommands } from "../../components/keyboard/commands.ts";
import type { Command } from "../../components/keyboard/commands.ts";
import { Empty } from "../../components/page/states.tsx";
import { useColumnLayout } from "../../components/table/column-layout.ts";
import { DataTable } from "../../components/table/data-table.tsx";
import type { Column, RowLinkProps } from "../../components/table/data-table.tsx";
import type { TablePosition } from "../../components/table/table-position.ts";
import { formatTime } from "../../components/time/time.ts";
import { CompareRuns } from "./compare-runs.tsx";
import { FacetPanel, useStoredFlag } from "./facets/facet-panel.tsx";
import { EmptyRunList } from "./empty-run-list.tsx";
import { ProjectHeader } from "./project-header.tsx";
import { collectKeys, renderRunDetail, toRunColumns } from "./run-columns.tsx";
import type { RunItem } from "./run-item.ts";
import type { ProjectAddress } from "./run-list-search.ts";
import { RunRowLink, RunRowLinks } from "./run-row-link.tsx";
import { RunTools } from "./run-tools.tsx";
import { SelectionBar, useRunTarget } from "./selection-bar.tsx";
import { toSort, useListAddress } from "./use-list-address.ts";
import { useRunList } from "./use-run-list.ts";
import type { RunList } from "./use-run-list.ts";
import "./runs.css";

const route = getRouteApi("/o/$tenantId/projects/p/$projectId");

/**
 * The list of runs of a project. The URL stores the state of the list. New runs appear in the list while its top is in
 * view.
 */
export const Runs = ({
  address,
  positionRef,
}: {
  readonly address: ProjectAddress;
  /** Stores the position of the list while a trace is open. */
  readonly positionRef: RefObject<TablePosition | undefined>;
}) => {
  const search = route.useSearch();
  const {
    query,
    change,
    ids: selectedIds,
    select: changeSelection,
  } = useListAddress(address.projectId);
  const [isAtTop, setIsAtTop] = useState(true);
  const [layout, setLayout] = useColumnLayout("runs");
  const [areFacetsShown, setAreFacetsShown] = useStoredFlag("facets", false);
  const listKey = JSON.stringify([query.filter, query.isRoot, search.last, search.from, search.to]);
  const fault = useFilterFault(query.filter, (filter) => change({ filter }));
  const runTarget = useRunTarget(query, selectedIds, { listKey, isValid: fault === undefined });
  const { isAllSelected } = runTarget;
  const isPaused = !isAtTop || isAllSelected || selectedIds.size > 0;
  const list = useRunList(query, isPaused);
  const columns = useRunColumns(list.rows, { isRootOnly: query.isRoot, areFacetsShown });
  const shownSelection = useMemo(
    () => (isAllSelected ? new Set(list.rows?.map(({ id }) => id)) : selectedIds),
    [isAllSelected, list.rows, selectedIds],
  );
  const [isFresh] = useState(() => createFreshCheck(Date.now()));
  useRunKeys();
  if (search.compare === true && search.selected?.length === 2) {
    return (
      <CompareRuns
        address={address}
        runIds={search.selected}
        onClose={() => change({ compare: undefined })}
      />
    );
  }
  const sortColumn = query.sort === "latency" ? "latency" : "start";
  return (
    <>
      <ProjectHeader
        address={address}
        // With an invalid filter, no list is shown, and the error is shown at the filter.
        list={fault === undefined ? list : undefined}
        isPaused={isPaused}
      />
      <RunTools
        address={address}
        query={query}
        columns={columns}
        layout={layout}
        onLayout={setLayout}
        areFacetsShown={areFacetsShown}
        onFacets={setAreFacetsShown}
        isFilterValid={fault === undefined}
        onChange={change}
      />
      {fault === undefined ? (
        <div className="run-body">
          {areFacetsShown && (
            <FacetPanel
              query={query}
              listKey={listKey}
              onFilter={(filter) => change({ filter: filter === "" ? undefined : filter })}
            />
          )}
          <div className="run-table">
            <RunRowLinks address={address} search={search}>
              <DataTable
                resourceName={query.isRoot ? "traces" : "runs"}
                rows={list.rows}
                getRowId={({ id }) => id}
                columns={columns}
                layout={layout}
                onLayout={setLayout}
                renderLink={renderLink}
                renderNarrowDetail={renderRunDetail}
                isFresh={isFresh}
                sort={{ column: sortColumn, order: query.order }}
                onSort={({ column, order }) => change({ sort: toSort(column, order) })}
                selection={shownSelection}
                onSelection={(ids) => {
                  runTarget.clearAll();
                  changeSelection(ids);
                }}
                hasMore={list.hasMore}
                onLoadMore={list.loadMore}
                onTopChange={setIsAtTop}
                error={list.error}
                onRetry={list.retry}
                emptyState={<EmptyRunList {...query} />}
                footer={<RunListFooter list={list} />}
                savedPosition={{
                  ref: positionRef,
                  key: JSON.stringify([
                    query.filter,
                    query.isRoot,
                    query.sort,
                    query.order,
                    search.last,
                  ]),
                }}
              />
            </RunRowLinks>
          </div>
        </div>
      ) : (
        <Empty title="The filter in the URL is not valid">
          <p>Change or remove the condition that is marked above.</p>
        </Empty>
      )}
      {fault === undefined && (
        <SelectionBar
          address={address}
          query={query}
          runTarget={runTarget}
          selectedIds={selectedIds}
          onClear={() => changeSelection(new Set())}
          onCompare={() => change({ compare: true })}
        />
      )}
    </>
  );
};

/**
 * The maximum age of a run whose row is highlighted as new. The row of an older run appears because the user scrolled,
 * not because the run arrived.
 */
const freshMs = 60_000;

/** Returns a function that checks whether a run began after the list was opened, and in the last minute. */
const createFreshCheck =
  (openedMs: number) =>
  ({ startMs }: RunItem): boolean =>
    startMs > openedMs && Date.now() - startMs < freshMs;

/** Returns the columns for these rows. Returns the same array as before if the keys in the rows are the same. */
function useRunColumns(
  rows: readonly RunItem[] | undefined,
  {
    isRootOnly,
    areFacetsShown,
  }: { readonly isRootOnly: boolean; readonly areFacetsShown: boolean },
): readonly Column<RunItem>[] {
  // The facets take some of the width, so the list needs a wider window if they are shown.
  const isWide = useMediaQuery(`(min-width: ${areFacetsShown ? 1_480 : 1_200}px)`, true);
  const hasFirstToken = useMediaQuery(`(min-width: ${areFacetsShown ? 1_400 : 1_200}px)`, true);
  const keysJson = useMemo(
    () =>
      JSON.stringify([
        collectKeys(rows?.map(({ metadata }) => metadata) ?? []),
        collectKeys(rows?.map(({ feedback }) => feedback) ?? []),
      ]),
    [rows],
  );
  // This function changes only with the number of digits, so the columns of a live list mostly stay the same.
  const formatCost = createCostFormat(rows?.flatMap(({ cost }) => cost ?? []) ?? []);
  return useMemo(() => {
    const [metadataKeys = [], feedbackKeys = []] = JSON.parse(keysJson) as readonly string[][];
    return toRunColumns({
      isRootOnly,
      isWide,
      hasFirstToken,
      metadataKeys,
      feedbackKeys,
      formatCost,
    });
  }, [keysJson, isRootOnly, isWide, hasFirstToken, formatCost]);
}

const renderLink = (run: RunItem, linkProps: RowLinkProps): ReactNode => (
  <RunRowLink run={run} {...linkProps} />
);

/**
 * Returns the error in the filter of the URL, which may come from a link. A valid filter may consist of words or
 * operators. It is then replaced by the same filter written with functions, because the filter bar shows functions as
 * conditions.
 */
function useFilterFault(
  filter: string,
  onFunctions: (functions: string) => void,
): FilterFault | undefined {
  const { data } = useQuery({ ...createFilterCheckQuery("runs", filter), enabled: filter !== "" });
  const replace = useEffectEvent(onFunctions);
  const needsConversion = data?.functions !== undefined && !/^\s*[a-z]+\s*\(/.test(filter);
  const functions = needsConversion ? data.functions : undefined;
  useEffect(() => {
    if (functions !== undefined) {
      replace(functions);
    }
  }, [functions]);
  return filter === "" ? undefined : data?.fault;
}

const createFocusAction = (selector: string) => (): void =>
  document.querySelector<HTMLElement>(selector)?.focus();

const fieldCommands: readonly Command[] = [
  {
    id: "runs-search",
    group: "This page",
    label: "Search runs",
    keys: "/",
    run: createFocusAction("[data-filter-input]"),
  },
  {
    id: "runs-filter",
    group: "This page",
    label: "Filter runs",
    keys: "f",
    run: createFocusAction("[data-filter-input]"),
  },
];

/** Registers the keyboard shortcuts that focus the filter field. The table registers its own shortcuts. */
const useRunKeys = (): void => useCommands(fieldCommands);

/** Shown after the last row: the start time that the search has reached, and a button to continue a paused search. */
const RunListFooter = ({ list }: { readonly list: RunList }) => {
  const { searchedToMs, isSearchPaused, hasMore, continueSearch } = list;
  if (!hasMore || (searchedToMs === undefined && !isSearchPaused)) {
    return null;
  }
  const rangeText = searchedToMs === undefined ? "" : ` back to ${formatTime(searchedToMs)}`;
  return (
    <output className="list-foot">
      {isSearchPaused ? (
        <>
          {rangeText === "" ? "" : `Searched${rangeText}. `}No more matches so far.
          <Button size="compact-sm" variant="default" onClick={continueSearch}>
            Continue search
          </Button>
        </>
      ) : (
        `Searching …${rangeText === "" ? "" : ` (searched${rangeText})`}`
      )}
    </output>
  );
};
