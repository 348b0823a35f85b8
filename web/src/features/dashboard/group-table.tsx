import { Link } from "@tanstack/react-router";
import { formatShare } from "../../api/live-report.ts";
import { formatCount } from "../../components/chart/chart-data.ts";
import { ScrollX } from "../../components/page/scroll-x.tsx";
import { createCostFormat, formatDollars } from "../../components/text/cost.ts";
import { formatDuration } from "../../components/time/time.ts";
import { listGroupValues } from "./chart-grid.tsx";
import { AlertLink } from "../metrics/alert-link.tsx";
import { toGroupColor, toGroupLabel } from "../metrics/metric-charts.ts";
import { resolveScope } from "./dashboard-search.ts";
import type { DashboardSearch } from "./dashboard-search.ts";
import {
  computeCostPerRun,
  computeErrorRate,
  formatChange,
  formatShareChange,
} from "../metrics/metrics.ts";
import type { MetricGroup, MetricValues, Metrics } from "../metrics/metrics.ts";
import { toRunListSearch } from "./run-links.ts";

interface Column {
  readonly title: string;
  readonly read: (values: MetricValues) => number | undefined;
  readonly format: (value: number) => string;
  /** Creates the format that all cells of the column share. */
  readonly createFormat?: (values: readonly number[]) => (value: number) => string;
  /** @defaultValue {@link formatChange} */
  readonly formatChange?: typeof formatChange;
}

const columns: readonly Column[] = [
  { title: "Runs", read: ({ runs }) => runs, format: formatCount },
  {
    title: "Error rate",
    read: computeErrorRate,
    format: formatShare,
    formatChange: formatShareChange,
  },
  { title: "p50", read: ({ latency }) => latency.p50, format: formatDuration },
  { title: "p95", read: ({ latency }) => latency.p95, format: formatDuration },
  { title: "p99", read: ({ latency }) => latency.p99, format: formatDuration },
  { title: "First token", read: ({ firstToken }) => firstToken.p50, format: formatDuration },
  // Show no value for a group without tokens or cost, because its calls do not report them.
  { title: "Tokens", read: ({ tokens }) => tokens || undefined, format: formatCount },
  {
    title: "Cost",
    read: ({ cost }) => cost || undefined,
    createFormat: createCostFormat,
    format: formatDollars,
  },
  {
    title: "Cost per run",
    read: computeCostPerRun,
    createFormat: createCostFormat,
    format: formatDollars,
  },
];

/** The totals of each group, with their changes since the previous period. Each row links to the runs of its group. */
export const GroupTable = ({
  metrics,
  search,
  address,
}: {
  readonly metrics: Metrics;
  readonly search: DashboardSearch;
  readonly address: { readonly tenantId: string; readonly projectId: string };
}) => {
  const shownColumns = columns.flatMap((column): readonly Column[] => {
    const values = metrics.groups.flatMap(({ total }) => column.read(total) ?? []);
    return values.length === 0
      ? []
      : [{ ...column, format: column.createFormat?.(values) ?? column.format }];
  });
  return (
    <section className="table-section">
      <h2>Groups</h2>
      <ScrollX label="Groups">
        <table className="projects stacked">
          <thead>
            <tr>
              <th scope="col">Group</th>
              {shownColumns.map(({ title }) => (
                <th key={title} scope="col" className="number">
                  {title}
                </th>
              ))}
              {search.group !== undefined && (
                <th scope="col">
                  <span className="unseen">Alert</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {metrics.groups.map((group, index) => (
              <tr key={`${group.kind} ${group.value}`}>
                <td
                  className="cell-project group-cell"
                  style={{ borderLeftColor: `var(${toGroupColor(group, index, search.group)})` }}
                >
                  <Link
                    to="/o/$tenantId/projects/p/$projectId"
                    params={address}
                    search={toRunListSearch({
                      scope: resolveScope(search),
                      filter: search.filter,
                      fromMs: metrics.fromMs,
                      toMs: metrics.toMs,
                      grouping: search.group,
                      group,
                      values: listGroupValues(metrics),
                    })}
                  >
                    {toGroupLabel(group)}
                  </Link>
                </td>
                {shownColumns.map((column) => (
                  <NumberCell key={column.title} column={column} group={group} />
                ))}
                {search.group !== undefined && (
                  <td className="number">
                    {group.kind === "value" && (
                      <AlertLink
                        address={address}
                        selection={{
                          scope: resolveScope(search),
                          group: search.group,
                          value: group.value,
                          filter: search.filter,
                        }}
                        subject={toGroupLabel(group)}
                      />
                    )}
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollX>
      {search.group === "model" && resolveScope(search) === "traces" && (
        <p className="note">
          Traces themselves rarely have a model. Select “Model calls” to count by model.
        </p>
      )}
      {search.group === "tag" && (
        <p className="note">A run with several tags is counted for each of them.</p>
      )}
    </section>
  );
};

const NumberCell = ({
  column: { title, read, format, formatChange: describeChange = formatChange },
  group: { total, previous },
}: {
  readonly column: Column;
  readonly group: MetricGroup;
}) => {
  const value = read(total);
  const change = value === 0 ? undefined : describeChange(value, read(previous));
  return (
    <td className="number" data-title={title}>
      {value === undefined ? "–" : format(value)}
      {change !== undefined && <small className="metric-change">{change}</small>}
    </td>
  );
};
