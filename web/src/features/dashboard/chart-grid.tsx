import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { omitUndefined } from "../../api/parse.ts";
import { Chart } from "../../components/chart/chart.tsx";
import { findPeriodShift, toCharts, toGroupColor, toGroupLabel } from "../metrics/metric-charts.ts";
import type { MetricChart } from "../metrics/metric-charts.ts";
import { resolveScope } from "./dashboard-search.ts";
import type { DashboardSearch } from "./dashboard-search.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { toRunListSearch } from "./run-links.ts";

/**
 * The charts of the dashboard. A click on a bar or on a point of a line, or the Enter key, opens the runs that are
 * counted there. Points of the dashed line open runs of the previous period. Dragging selects a time range.
 */
export const ChartGrid = ({
  metrics,
  search,
  address,
}: {
  readonly metrics: Metrics;
  readonly search: DashboardSearch;
  readonly address: { readonly tenantId: string; readonly projectId: string };
}) => {
  const navigate = useNavigate();
  const charts = useMemo(
    () =>
      toCharts(metrics, omitUndefined({ grouping: search.group, percentile: search.percentile })),
    [metrics, search.group, search.percentile],
  );
  const openRuns = (chart: MetricChart, index: number, seriesIndex: number | undefined): void => {
    const pointStart = metrics.starts[index];
    if (pointStart === undefined) {
      return;
    }
    const { groups, isError } = chart;
    const start = pointStart - findPeriodShift(metrics, chart, seriesIndex);
    void navigate({
      to: "/o/$tenantId/projects/p/$projectId",
      params: address,
      search: toRunListSearch({
        scope: resolveScope(search),
        filter: search.filter,
        fromMs: start,
        toMs: start + metrics.widthMs,
        grouping: search.group,
        group: seriesIndex === undefined ? undefined : groups[seriesIndex],
        values: listGroupValues(metrics),
        isError,
      }),
    });
  };
  const isGrouped = metrics.groups.length > 0;
  return (
    <>
      {isGrouped && <GroupLegend groups={metrics.groups} grouping={search.group} />}
      <div className="metric-charts chart-row">
        {charts.map((chart) => (
          <Chart
            key={chart.label}
            hasLegend={!isGrouped}
            label={chart.label}
            positions={metrics.starts}
            series={chart.series}
            format={chart.format}
            onPick={(index, seriesIndex) => openRuns(chart, index, seriesIndex)}
            onSelect={(from, to) =>
              void navigate({
                to: "/o/$tenantId/projects/p/$projectId/dashboard",
                params: address,
                search: toSelectedSearch(search, { from, to: to + metrics.widthMs }),
              })
            }
          />
        ))}
      </div>
    </>
  );
};

/** One legend for all charts, because they have the same groups. The dashed line shows the previous period. */
const GroupLegend = ({
  groups,
  grouping,
}: {
  readonly groups: Metrics["groups"];
  readonly grouping: DashboardSearch["group"];
}) => (
  <ul className="chart-legend group-legend" aria-label="Groups of all charts">
    {groups.map((group, index) => (
      <li
        key={`${group.kind} ${group.value}`}
        style={{ borderColor: `var(${toGroupColor(group, index, grouping)})` }}
      >
        {toGroupLabel(group)}
      </li>
    ))}
    <li className="legend-reference">Previous period</li>
  </ul>
);

/**
 * Returns the values of the grouping property that have their own group. All other runs are in the groups "Other" and
 * "None".
 */
export const listGroupValues = ({ groups }: Metrics): readonly string[] =>
  groups.filter(({ kind }) => kind === "value").map(({ value }) => value);

/** Replaces the time range of the URL by the selected one, widened to whole minutes. */
function toSelectedSearch(
  { last: _last, ...search }: DashboardSearch,
  { from, to }: { readonly from: number; readonly to: number },
): DashboardSearch {
  const minuteMs = 60_000;
  return {
    ...search,
    from: new Date(Math.floor(from / minuteMs) * minuteMs).toISOString(),
    to: new Date(Math.ceil(to / minuteMs) * minuteMs).toISOString(),
  };
}
