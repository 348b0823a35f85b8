import { Button } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { ReactNode } from "react";
import { FilterBar } from "../../components/filter/filter-bar.tsx";
import { useActions } from "../../components/keyboard/commands.ts";
import type { Command } from "../../components/keyboard/commands.ts";
import { Empty } from "../../components/page/states.tsx";
import { useColumnLayout } from "../../components/table/column-layout.ts";
import { DataTable } from "../../components/table/data-table.tsx";
import type { RowLink } from "../../components/table/data-table.tsx";
import { formatTime } from "../../components/time/time.ts";
import { CompareRuns } from "./compare-runs.tsx";
import { ProjectHeader } from "./project-header.tsx";
import { readRunWords } from "./queries.ts";
import { QuickFilterBar } from "./quick-filter-bar.tsx";
import { keysIn, toRunColumns } from "./run-columns.tsx";
import type { RunItem } from "./run-item.ts";
import { parseListSearch } from "./run-list-search.ts";
import type { ProjectAddress } from "./run-list-search.ts";
import { RunToolbar } from "./run-toolbar.tsx";
import { SelectionBar } from "./selection-bar.tsx";
import { RunHistogram, TimeRangePicker } from "./time-range-picker.tsx";
import { noTimes, toSort, useListAddress } from "./use-list-address.ts";
import { useRunList } from "./use-run-list.ts";
import type { RunList } from "./use-run-list.ts";
import "./runs.css";

const route = getRouteApi("/o/$tenantId/projects/p/$projectId");

/** The runs of a project: what the address asks for, live while its top is in view. */
export const Runs = ({ address }: { readonly address: ProjectAddress }) => {
  const search = route.useSearch();
  const { query, change, ids, select } = useListAddress(address.projectId);
  const [isAtTop, setIsAtTop] = useState(true);
  const [layout, setLayout] = useColumnLayout("runs");
  const list = useRunList(query, !isAtTop || ids.size > 0);
  const columns = useMemo(
    () =>
      toRunColumns(
        keysIn(list.rows?.map(({ metadata }) => metadata) ?? []),
        keysIn(list.rows?.map(({ feedback }) => feedback) ?? []),
      ),
    [list.rows],
  );
  const link = useMemo(() => linkTo(address), [address]);
  useRunKeys();
  if (search.compare === true && search.selected?.length === 2) {
    return (
      <CompareRuns
        address={address}
        ids={search.selected}
        onClose={() => change({ compare: undefined })}
      />
    );
  }
  const sortColumn = query.sort === "latency" ? "latency" : "start";
  return (
    <>
      <ProjectHeader address={address} list={list} isHeld={!isAtTop || ids.size > 0} />
      <div className="run-tools">
        <FilterBar
          of="runs"
          value={query.filter}
          onApply={(filter) => change({ filter: filter === "" ? undefined : filter })}
          readWords={async (wants, signal) => readRunWords(address.projectId, wants, signal)}
          wordsKey={address.projectId}
        >
          <RunToolbar
            query={query}
            columns={columns}
            layout={layout}
            onLayout={setLayout}
            onChange={change}
          >
            <TimeRangePicker times={search} onTimes={(times) => change({ ...noTimes, ...times })} />
            <QuickFilterBar
              projectId={address.projectId}
              filter={query.filter}
              onFilter={(filter) => change({ filter: filter === "" ? undefined : filter })}
            />
          </RunToolbar>
        </FilterBar>
        <RunHistogram
          projectId={address.projectId}
          isRoot={query.isRoot}
          range={query.range}
          onTimes={(times) => change({ ...noTimes, ...times })}
        />
      </div>
      <DataTable
        what={query.isRoot ? "traces" : "runs"}
        rows={list.rows}
        rowId={({ id }) => id}
        columns={columns}
        layout={layout}
        onLayout={setLayout}
        link={link}
        sort={{ column: sortColumn, order: query.order }}
        onSort={({ column, order }) => change({ sort: toSort(column, order) })}
        selection={ids}
        onSelection={select}
        hasMore={list.hasMore}
        onMore={list.readMore}
        onTop={setIsAtTop}
        error={list.error}
        onRetry={list.retry}
        empty={
          <Empty title={query.filter === "" ? "No trace here yet." : "Nothing meets this filter."}>
            <p>
              {query.filter === ""
                ? "The first one shows here as soon as it arrives."
                : "Take a condition away, or choose a longer time."}
            </p>
          </Empty>
        }
        foot={<RunListFoot list={list} />}
      />
      <SelectionBar
        address={address}
        query={query}
        ids={ids}
        onClear={() => select(new Set())}
        onCompare={() => change({ compare: true })}
      />
    </>
  );
};

/** To the run in its trace; the list's own part of the address stays, to come back to. */
const linkTo =
  (address: ProjectAddress) =>
  (run: RunItem, part: RowLink): ReactNode => (
    <Link
      to="/o/$tenantId/projects/p/$projectId"
      params={{ ...address }}
      search={(now) => ({
        ...parseListSearch({ ...now }),
        trace: run.traceId,
        ...(run.id === run.traceId ? {} : { run: run.id }),
      })}
      {...part}
    />
  );

const focus = (selector: string) => (): void =>
  document.querySelector<HTMLElement>(selector)?.focus();

const actions: readonly Command[] = [
  {
    id: "runs-search",
    group: "This page",
    label: "Search all text",
    keys: "/",
    run: focus("[data-search-input]"),
  },
  {
    id: "runs-filter",
    group: "This page",
    label: "Filter the runs",
    keys: "f",
    run: focus("[data-filter-input]"),
  },
];

/** Keys of the fields above the runs; the list has its own. */
const useRunKeys = (): void => useActions(actions);

/** Behind the last row: how far a search has come, and that it goes on. */
const RunListFoot = ({ list }: { readonly list: RunList }) => {
  const { searchedToMs, isPaused, hasMore, searchOn } = list;
  if (!hasMore || (searchedToMs === undefined && !isPaused)) {
    return null;
  }
  const far = searchedToMs === undefined ? "" : ` back to ${formatTime(searchedToMs)}`;
  return (
    <output className="list-foot">
      {isPaused ? (
        <>
          Searched{far} without finding more.
          <Button size="compact-sm" variant="default" onClick={searchOn}>
            Search on
          </Button>
        </>
      ) : (
        `Searching, so far${far} …`
      )}
    </output>
  );
};
