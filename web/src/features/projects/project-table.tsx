import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { formatShare, listActiveProjects } from "../../api/live-report.ts";
import type { LiveReport } from "../../api/live-report.ts";
import { formatCount } from "../../components/chart/chart-data.ts";
import { Sparkline } from "../../components/chart/sparkline.tsx";
import { ScrollX } from "../../components/page/scroll-x.tsx";
import { createCostFormat } from "../../components/text/cost.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import { formatDuration } from "../../components/time/time.ts";
import { computeErrorRate } from "../metrics/metrics.ts";
import { overviewRanges } from "../metrics/overview-range.ts";
import type { OverviewMetrics, ProjectMetrics } from "../metrics/overview.ts";
import type { OverviewRange } from "../metrics/overview-range.ts";
import { createLastActivityQuery } from "./last-activity.ts";
import type { Project } from "./project.ts";
import "../../components/chart/chart.css";
import "./projects.css";

const rangeTitles = {
  runs: "Traces",
  series: "Traces over time",
  errorRate: "Error rate",
  p50: "p50 latency",
  p95: "p95 latency",
  p99: "p99 latency",
  tokens: "Tokens",
  cost: "Cost",
} as const;
/** The last activity is shown only for this many projects, because each of them needs a request of its own. */
const maxActiveRows = 50;

/** A table of projects with metrics of their traces in a time range. The busiest projects come first. */
export const ProjectTable = ({
  title,
  projects,
  range,
  overview,
  liveReport,
}: {
  readonly title: string;
  readonly projects: readonly Project[];
  readonly range: OverviewRange;
  /** `undefined` while the metrics are loading. */
  readonly overview: OverviewMetrics | undefined;
  readonly liveReport: LiveReport | undefined;
}) => {
  const formatCost = createCostFormat(
    projects.map(({ id }) => overview?.projects.get(id)?.total.cost ?? 0),
  );
  return (
    <section className="table-section">
      <h2>{title}</h2>
      <ScrollX label={title}>
        <table className="projects stacked">
          <thead>
            <tr>
              <th scope="col" rowSpan={2}>
                Project
              </th>
              <th scope="col" rowSpan={2} className="number">
                Last activity
              </th>
              <th
                scope="colgroup"
                colSpan={Object.keys(rangeTitles).length}
                className="range-column"
              >
                Last {overviewRanges[range]}
              </th>
            </tr>
            <tr>
              {Object.values(rangeTitles).map((name, index) => (
                <th
                  key={name}
                  scope="col"
                  className={index === 0 ? "number range-column" : "number"}
                >
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sortByActivity(projects, overview, liveReport).map((project, index) => (
              <ProjectRow
                key={project.id}
                project={project}
                metrics={findMetrics(overview, project)}
                range={range}
                isLoading={overview === undefined}
                formatCost={formatCost}
                showsActivity={index < maxActiveRows}
              />
            ))}
          </tbody>
        </table>
      </ScrollX>
    </section>
  );
};

/** The metrics of a project with traces in the range; `undefined` if it has none. */
function findMetrics(
  overview: OverviewMetrics | undefined,
  { id }: Project,
): ProjectMetrics | undefined {
  const metrics = overview?.projects.get(id);
  return metrics !== undefined && metrics.total.runs > 0 ? metrics : undefined;
}

/**
 * Sorts projects. Projects that are active now come first, then the others by their number of traces in the time range.
 */
function sortByActivity(
  projects: readonly Project[],
  overview: OverviewMetrics | undefined,
  liveReport: LiveReport | undefined,
): readonly Project[] {
  const ranks = new Map(
    (liveReport === undefined ? [] : listActiveProjects(liveReport)).map((id, rank) => [id, rank]),
  );
  const getRank = ({ id }: Project): number => ranks.get(id) ?? ranks.size;
  const countTraces = ({ id }: Project): number => overview?.projects.get(id)?.total.runs ?? 0;
  return projects.toSorted(
    (left, right) => getRank(left) - getRank(right) || countTraces(right) - countTraces(left),
  );
}

const ProjectRow = ({
  project: { id, tenantId, name },
  metrics,
  range,
  isLoading,
  formatCost,
  showsActivity,
}: {
  readonly project: Project;
  /** `undefined` if the project has no traces in the range. */
  readonly metrics: ProjectMetrics | undefined;
  readonly range: OverviewRange;
  readonly isLoading: boolean;
  readonly formatCost: (cost: number) => string;
  readonly showsActivity: boolean;
}) => {
  const { data: lastMs } = useQuery({ ...createLastActivityQuery(id), enabled: showsActivity });
  const { total, runs = [] } = metrics ?? {};
  const errorRate = total && computeErrorRate(total);
  return (
    <tr>
      <td className="cell-project">
        <Link
          to="/o/$tenantId/projects/p/$projectId"
          params={{ tenantId, projectId: id }}
          search={{}}
        >
          {toVisibleText(name)}
        </Link>
      </td>
      <td className="number" data-title="Last activity">
        {typeof lastMs === "number" && <Ago timeMs={lastMs} />}
      </td>
      <td className="number range-column" data-title={rangeTitles.runs}>
        {isLoading ? "" : formatCount(total?.runs ?? 0)}
      </td>
      <td className="number" data-title={rangeTitles.series}>
        {total !== undefined && (
          <Link
            to="/o/$tenantId/projects/p/$projectId/dashboard"
            params={{ tenantId, projectId: id }}
            search={{ last: range }}
            aria-label={`Dashboard of ${toVisibleText(name)}`}
            title="Dashboard"
          >
            <Sparkline values={runs} />
          </Link>
        )}
      </td>
      <td
        className={(errorRate ?? 0) > 0 ? "number bad" : "number"}
        data-title={rangeTitles.errorRate}
      >
        {errorRate === undefined ? "" : formatShare(errorRate)}
      </td>
      {(["p50", "p95", "p99"] as const).map((percentile) => (
        <td key={percentile} className="number" data-title={rangeTitles[percentile]}>
          {total?.latency[percentile] === undefined
            ? ""
            : formatDuration(total.latency[percentile])}
        </td>
      ))}
      <td className="number" data-title={rangeTitles.tokens}>
        {total && total.tokens > 0 ? formatCount(total.tokens) : ""}
      </td>
      <td className="number" data-title={rangeTitles.cost}>
        {total && total.cost > 0 ? formatCost(total.cost) : ""}
      </td>
    </tr>
  );
};
