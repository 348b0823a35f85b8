import { Link } from "@tanstack/react-router";
import { listActiveProjects, formatCost, formatShare, summarize } from "../../api/live-report.ts";
import type { LiveReport } from "../../api/live-report.ts";
import { formatCount } from "../../components/chart/chart-data.ts";
import { ScrollX } from "../../components/page/scroll-x.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { formatDuration } from "../../components/time/time.ts";
import type { Project } from "./project.ts";
import "./projects.css";

const columnTitles = ["Runs/s", "Error rate", "p50 latency", "p99 latency", "Tokens", "Cost"];

/** A table of projects, busiest first, with statistics of the last five minutes. */
export const ProjectTable = ({
  title,
  projects,
  live,
}: {
  readonly title: string;
  readonly projects: readonly Project[];
  readonly live: LiveReport | undefined;
}) => (
  <section className="table-section">
    <h2>{title}</h2>
    <ScrollX label={title}>
      <table className="projects">
        <thead>
          <tr>
            <th scope="col">Project</th>
            {columnTitles.map((name) => (
              <th key={name} scope="col" className="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sortByActivity(projects, live).map((project) => (
            <ProjectRow key={project.id} project={project} live={live} />
          ))}
        </tbody>
      </table>
    </ScrollX>
    <p className="note">Statistics of the last 5 minutes</p>
  </section>
);

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
}: {
  readonly project: Project;
  readonly live: LiveReport | undefined;
}) => {
  const summary = live === undefined ? undefined : summarize(live, 300, id);
  const cellTexts =
    summary === undefined || summary.runs + summary.traces === 0
      ? columnTitles.map(() => "")
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
      {cellTexts.map((text, index) => (
        <td
          key={columnTitles[index]}
          className={index === 1 && (summary?.errorRate ?? 0) > 0 ? "number bad" : "number"}
        >
          {text}
        </td>
      ))}
    </tr>
  );
};
