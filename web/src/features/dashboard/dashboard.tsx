import { NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import { useCommands } from "../../components/keyboard/commands.ts";
import type { Command } from "../../components/keyboard/commands.ts";
import { FilterBar } from "../../components/filter/filter-bar.tsx";
import { Empty, Failure, Loading } from "../../components/page/states.tsx";
import { TimeRangePicker } from "../../components/time/time-range-picker.tsx";
import { pickTimes } from "../../components/time/time-range.ts";
import { ProjectPageHead } from "../projects/project-page-head.tsx";
import { readRunValues } from "../runs/queries.ts";
import { ChartGrid } from "./chart-grid.tsx";
import {
  defaultRange,
  groupings,
  parseDashboardSearch,
  resolveScope,
  scopes,
} from "./dashboard-search.ts";
import type { DashboardSearch, Grouping, Scope } from "./dashboard-search.ts";
import { explainNoValues } from "./explain-groups.ts";
import { GroupTable } from "./group-table.tsx";
import { MetricTiles } from "../metrics/metric-tiles.tsx";
import { describeMissing, percentiles } from "../metrics/metrics.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { createMetricsQuery } from "./queries.ts";
import "../projects/projects.css";
import "./dashboard.css";

const route = getRouteApi("/o/$tenantId/projects/p/$projectId/dashboard");

/** The page `/o/{tenantId}/projects/p/{projectId}/dashboard`: metrics of a project's runs over time. */
export const Dashboard = () => {
  const { tenantId, projectId } = route.useParams();
  // Parse the parameters again, because the router keeps parameters that were not parsed, including invalid ones.
  const search = parseDashboardSearch(route.useSearch());
  const { data: metrics, error, refetch } = useQuery(createMetricsQuery(projectId, search));
  return (
    <div>
      <title>Dashboard · Millrace</title>
      <ProjectPageHead
        address={{ tenantId, projectId }}
        title="Dashboard"
        filter={search.filter}
        times={pickTimes(search)}
      >
        <DashboardControls search={search} />
      </ProjectPageHead>
      <div className="page-body">
        <DashboardFilter projectId={projectId} filter={search.filter ?? ""} />
        {error !== null && <Failure resourceName="the metrics" error={error} onRetry={refetch} />}
        {metrics === undefined
          ? error === null && <Loading resourceName="the metrics" />
          : error === null && (
              <MetricsView metrics={metrics} search={search} address={{ tenantId, projectId }} />
            )}
      </div>
    </div>
  );
};

const MetricsView = ({
  metrics,
  search,
  address,
}: {
  readonly metrics: Metrics;
  readonly search: DashboardSearch;
  readonly address: { readonly tenantId: string; readonly projectId: string };
}) => (
  <>
    <MissingNote metrics={metrics} hasFilter={search.filter !== undefined} />
    <MetricTiles
      metrics={metrics}
      alerts={{ ...address, scope: resolveScope(search), filter: search.filter }}
    />
    {metrics.total.runs + metrics.previous.runs === 0 ? (
      <Empty title="No runs in this range" />
    ) : (
      <>
        <ChartGrid metrics={metrics} search={search} address={address} />
        <NoValuesNote metrics={metrics} search={search} />
        {metrics.groups.length > 0 && (
          <GroupTable metrics={metrics} search={search} address={address} />
        )}
      </>
    )}
    <p className="note">
      Changes are relative to the previous period. Changes of error rates are in percentage points.
      Percentiles are accurate to 2 %. Days begin at 00:00 UTC.
    </p>
  </>
);

const NoValuesNote = ({
  metrics: { groups },
  search,
}: {
  readonly metrics: Metrics;
  readonly search: DashboardSearch;
}) => {
  const text = explainNoValues(groups, { scope: resolveScope(search), grouping: search.group });
  return text === undefined ? null : <p className="note">{text}</p>;
};

/** Shows which time ranges are not counted, and whether the server will count them. */
const MissingNote = ({
  metrics: { missing },
  hasFilter,
}: {
  readonly metrics: Metrics;
  readonly hasFilter: boolean;
}) => {
  const text = useMemo(() => describeMissing(missing, hasFilter), [missing, hasFilter]);
  return text === undefined ? null : <output className="dashboard-missing">{text}</output>;
};

const groupingLabels: { readonly [Name in Grouping]: string } = {
  model: "Model",
  name: "Name",
  tag: "Tag",
  user: "User",
  status: "Status",
};

const scopeLabels: { readonly [Name in Scope]: string } = {
  traces: "Traces",
  models: "Model calls",
  all: "All runs",
};

/** Fields to select the time range, the runs that are counted, and the property by which they are grouped. */
const DashboardControls = ({ search }: { readonly search: DashboardSearch }) => {
  const navigate = route.useNavigate();
  const { last: _last, from: _from, to: _to, ...others } = search;
  const changeSearch = (newSearch: DashboardSearch): void => void navigate({ search: newSearch });
  return (
    <div className="dashboard-controls">
      <TimeRangePicker
        times={search}
        defaultPreset={defaultRange}
        onTimes={(times) => changeSearch({ ...others, ...times })}
      />
      <NativeSelect
        size="xs"
        aria-label="Runs"
        value={resolveScope(search)}
        data={scopes.map((value) => ({ value, label: scopeLabels[value] }))}
        onChange={({ currentTarget: { value } }) => {
          const scope = scopes.find((name) => name === value);
          changeSearch({ ...search, ...(scope === undefined ? {} : { scope }) });
        }}
      />
      <NativeSelect
        size="xs"
        aria-label="Group by"
        value={search.group ?? ""}
        data={[
          { value: "", label: "Not grouped" },
          ...groupings.map((value) => ({
            value,
            label: `By ${groupingLabels[value].toLowerCase()}`,
          })),
        ]}
        onChange={({ currentTarget: { value } }) => {
          const { group: _group, ...ungroupedSearch } = search;
          const group = groupings.find((name) => name === value);
          changeSearch(group === undefined ? ungroupedSearch : { ...ungroupedSearch, group });
        }}
      />
      {search.group !== undefined && (
        <NativeSelect
          size="xs"
          aria-label="Percentile of durations"
          value={search.percentile ?? "p95"}
          data={[...percentiles]}
          onChange={({ currentTarget: { value } }) => {
            const percentile = percentiles.find((name) => name === value);
            changeSearch({ ...search, ...(percentile === undefined ? {} : { percentile }) });
          }}
        />
      )}
    </div>
  );
};

/** The keys are the same as in the run list. Both commands focus the filter bar, which also searches for words. */
const filterCommands: readonly Command[] = [
  { id: "dashboard-search", group: "This page", label: "Search runs", keys: "/", run: focusFilter },
  { id: "dashboard-filter", group: "This page", label: "Filter runs", keys: "f", run: focusFilter },
];

function focusFilter(): void {
  document.querySelector<HTMLElement>("[data-filter-input]")?.focus();
}

const DashboardFilter = ({
  projectId,
  filter,
}: {
  readonly projectId: string;
  readonly filter: string;
}) => {
  const navigate = route.useNavigate();
  useCommands(filterCommands);
  return (
    <FilterBar
      resource="runs"
      value={filter}
      valuesKey={projectId}
      readValues={(request, signal) => readRunValues(projectId, request, signal)}
      onApply={(newFilter) =>
        void navigate({
          search: ({ filter: _filter, ...others }) =>
            newFilter === "" ? others : { ...others, filter: newFilter },
        })
      }
    />
  );
};
