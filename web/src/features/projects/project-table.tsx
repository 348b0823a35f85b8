import { SegmentedControl } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { listActiveProjects, formatCost, formatShare, summarize } from "../../api/live-report.ts";
import type { LiveReport } from "../../api/live-report.ts";
import { formatCount } from "../../components/chart/chart-data.ts";
import { Sparkline } from "../../components/chart/sparkline.tsx";
import { ScrollX } from "../../components/page/scroll-x.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import { formatDuration } from "../../components/time/time.ts";
import { activityRanges, createActivityQuery, isActivityRange } from "./project-activity.ts";
import type { ActivityRange } from "./project-activity.ts";
import type { Project } from "./project.ts";
import "../../components/chart/chart.css";
import "./projects.css";

const liveTitles = ["Runs/s", "Error rate", "p50 latency", "p99 latency", "Tokens", "Cost"];
/** Only the first projects show their activity, because it takes two requests per project. */
const maxActiveRows = 50;

/**
 * A table of projects, busiest first: their traces in a time range that the user chooses, and their activity in the
 * last five minutes.
 */
export const ProjectTable = ({
  title,
  projects,
  live,
}: {
  readonly title: string;
  readonly projects: readonly Project[];
  readonly live: LiveReport | undefined;
}) => {
  const [range, setRange] = useLocalStorage<ActivityRange>({
    key: "millrace.projects.range",
    defaultValue: "24h",
    getInitialValueInEffect: false,
    deserialize: (text) => {
      const stored = text?.replaceAll('"', "");
      return isActivityRange(stored) ? stored : "24h";
    },
  });
  return (
    <section className="table-section">
      <div className="page-head">
        <h2>{title}</h2>
        <SegmentedControl
          size="xs"
          aria-label="Time range of the projects"
          data={Object.entries(activityRanges).map(([value, { label }]) => ({ value, label }))}
          value={range}
          onChange={(value) => setRange(isActivityRange(value) ? value : "24h")}
        />
      </div>
      <ScrollX label={title}>
        <table className="projects">
          <thead>
            <tr>
              <th scope="col" rowSpan={2}>
                Project
              </th>
              <th scope="colgroup" colSpan={4} className="number">
                Last {activityRanges[range].label}
              </th>
              <th scope="colgroup" colSpan={liveTitles.length} className="number live-column">
                Last 5 min
              </th>
            </tr>
            <tr>
              {["Last activity", "Traces", "", "Error rate"].map((name) => (
                <th key={name} scope="col" className="number">
                  {name === "" ? <span className="unseen">Traces over time</span> : name}
                </th>
              ))}
              {liveTitles.map((name, index) => (
                <th key={name} scope="col" className={toLiveClass(index)}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sortByActivity(projects, live).map((project, index) => (
              <ProjectRow
                key={project.id}
                project={project}
                live={live}
                range={index < maxActiveRows ? range : undefined}
              />
            ))}
          </tbody>
        </table>
      </ScrollX>
    </section>
  );
};

const toLiveClass = (index: number): string => (index === 0 ? "number live-column" : "number");

function sortByActivity(
  projects: readonly Project[],
  live: LiveReport | undefined,
): readonly Project[] {
  const ranks = new Map(
    (live === undefined ? [] : listActiveProjects(live)).map((id, rank) => [id, rank]),
  );
  const getRank = ({ id }: Project): number => ranks.get(id) ?? ranks.size;
  return projects.toSorted((left, right) => getRank(left) - getRank(right));
}

const ProjectRow = ({
  project: { id, tenantId, name },
  live,
  range,
}: {
  readonly project: Project;
  readonly live: LiveReport | undefined;
  /** `undefined` if the row shows no activity. */
  readonly range: ActivityRange | undefined;
}) => {
  const { data: activity } = useQuery({
    ...createActivityQuery(id, range ?? "24h"),
    enabled: range !== undefined,
  });
  const { traces = 0, errors = 0, buckets = [], lastMs } = activity ?? {};
  const summary = live === undefined ? undefined : summarize(live, 300, id);
  const liveTexts =
    summary === undefined || summary.runs + summary.traces === 0
      ? liveTitles.map(() => "")
      : [
          formatCount(summary.runsPerSecond),
          summary.errorRate === undefined ? "" : formatShare(summary.errorRate),
          summary.p50Ms === undefined ? "" : formatDuration(summary.p50Ms),
          summary.p99Ms === undefined ? "" : formatDuration(summary.p99Ms),
          summary.tokens === 0 ? "" : formatCount(summary.tokens),
          summary.cost === 0 ? "" : formatCost(summary.cost),
        ];
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
      <td className="number">{lastMs === undefined ? "" : <Ago timeMs={lastMs} />}</td>
      <td className="number">{activity === undefined ? "" : formatCount(traces)}</td>
      <td className="number">{traces > 0 && <Sparkline values={buckets} />}</td>
      <td className={errors > 0 ? "number bad" : "number"}>
        {traces > 0 ? formatShare(errors / traces) : ""}
      </td>
      {liveTexts.map((text, index) => (
        <td
          key={liveTitles[index]}
          className={
            index === 1 && (summary?.errorRate ?? 0) > 0 ? "number bad" : toLiveClass(index)
          }
        >
          {text}
        </td>
      ))}
    </tr>
  );
};
