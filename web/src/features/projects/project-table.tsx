import { Link } from "@tanstack/react-router";
import { activeProjects, formatCost, formatShare, summarize } from "../../api/live-report.ts";
import type { LiveReport } from "../../api/live-report.ts";
import { formatCount } from "../../components/chart/chart-data.ts";
import { ScrollX } from "../../components/page/scroll-x.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { formatDuration } from "../../components/time/time.ts";
import type { Project } from "./project.ts";
import "./projects.css";

const columns = ["Runs a second", "Errors", "p50", "p99", "Tokens", "Cost"];

/** Projects, the busiest first, with what arrived in the last five minutes. */
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
            <th scope="col">Name</th>
            {columns.map((name) => (
              <th key={name} scope="col" className="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {byActivity(projects, live).map((project) => (
            <ProjectRow key={project.id} project={project} live={live} />
          ))}
        </tbody>
      </table>
    </ScrollX>
    <p className="note">Numbers are of the last five minutes.</p>
  </section>
);

function byActivity(
  projects: readonly Project[],
  live: LiveReport | undefined,
): readonly Project[] {
  const active = new Map((live === undefined ? [] : activeProjects(live)).map((id, n) => [id, n]));
  const placeOf = ({ id }: Project): number => active.get(id) ?? active.size;
  return projects.toSorted((one, other) => placeOf(one) - placeOf(other));
}

const ProjectRow = ({
  project: { id, tenantId, name },
  live,
}: {
  readonly project: Project;
  readonly live: LiveReport | undefined;
}) => {
  const summary = live === undefined ? undefined : summarize(live, 300, id);
  const cells =
    summary === undefined || summary.runs + summary.traces === 0
      ? columns.map(() => "")
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
      {cells.map((text, index) => (
        <td
          key={columns[index]}
          className={index === 1 && (summary?.errorRate ?? 0) > 0 ? "number bad" : "number"}
        >
          {text}
        </td>
      ))}
    </tr>
  );
};
