import { Button } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { memo } from "react";
import { FilterBar } from "../../components/filter/filter-bar.tsx";
import type { ColumnLayout } from "../../components/table/column-layout.ts";
import type { Column } from "../../components/table/data-table.tsx";
import { TimeRangePicker } from "../../components/time/time-range-picker.tsx";
import { readRunValues } from "./queries.ts";
import type { RunListQuery } from "./queries.ts";
import { QuickFilterBar } from "./quick-filters/quick-filter-bar.tsx";
import { RunHistogram } from "./run-histogram.tsx";
import type { RunItem } from "./run-item.ts";
import type { ProjectAddress } from "./run-list-search.ts";
import { RunToolbar } from "./run-toolbar.tsx";
import { OpenViewMark } from "./saved-views/open-view-mark.tsx";
import { removedTimeRange } from "./use-list-address.ts";
import type { ListChanges } from "./use-list-address.ts";

const route = getRouteApi("/o/$tenantId/projects/p/$projectId");

/**
 * Everything above the list: the open view, the filter, the toolbar and the histogram. It is rendered again only if one
 * of its props changes, and not with each page of runs that arrives.
 */
export const RunTools = memo(
  ({
    address: { projectId },
    query,
    columns,
    layout,
    onLayout,
    areFacetsShown,
    onFacets,
    isFilterValid,
    onChange,
  }: {
    readonly address: ProjectAddress;
    readonly query: RunListQuery;
    readonly columns: readonly Column<RunItem>[];
    readonly layout: ColumnLayout;
    readonly onLayout: (layout: ColumnLayout) => void;
    readonly areFacetsShown: boolean;
    readonly onFacets: (areShown: boolean) => void;
    readonly isFilterValid: boolean;
    readonly onChange: (changes: ListChanges) => void;
  }) => {
    const search = route.useSearch();
    const changeFilter = (filter: string): void =>
      onChange({ filter: filter === "" ? undefined : filter });
    return (
      <div className="run-tools">
        {search.view !== undefined && (
          <OpenViewMark
            projectId={projectId}
            viewId={search.view}
            search={search}
            onClose={() =>
              onChange({
                ...removedTimeRange,
                view: undefined,
                filter: undefined,
                all: undefined,
                sort: undefined,
              })
            }
          />
        )}
        <FilterBar
          resource="runs"
          value={query.filter}
          onApply={changeFilter}
          readValues={async (request, signal) => readRunValues(projectId, request, signal)}
          valuesKey={projectId}
        >
          <RunToolbar
            query={query}
            columns={columns}
            layout={layout}
            onLayout={onLayout}
            onChange={onChange}
          >
            <TimeRangePicker
              times={search}
              onTimes={(times) => onChange({ ...removedTimeRange, ...times })}
            />
            <Button
              size="xs"
              variant="default"
              aria-expanded={areFacetsShown}
              onClick={() => onFacets(!areFacetsShown)}
            >
              Facets
            </Button>
            <QuickFilterBar projectId={projectId} filter={query.filter} onFilter={changeFilter} />
          </RunToolbar>
        </FilterBar>
        {isFilterValid && (
          <RunHistogram
            projectId={projectId}
            isRootOnly={query.isRoot}
            filter={query.filter}
            range={query.range}
            onTimes={(times) => onChange({ ...removedTimeRange, ...times })}
          />
        )}
      </div>
    );
  },
);
