import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { projectStatsQuery } from "../../api/projects.ts";
import type { Project, ProjectStats } from "../../lib/project.ts";
import { formatDuration, formatTime } from "../../lib/time.ts";
import { toVisibleText } from "../../lib/visible-text.ts";

/** The projects, with what arrived in the last day. */
export const ProjectTable = ({ projects }: { readonly projects: readonly Project[] }) => (
  <section>
    <h1>Projects</h1>
    <div className="scroll-x">
      <table className="projects">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col" className="number">
              Traces, 24 h
            </th>
            <th scope="col" className="number">
              Errors
            </th>
            <th scope="col" className="number">
              Median
            </th>
            <th scope="col" className="number">
              p99
            </th>
            <th scope="col">Newest</th>
          </tr>
        </thead>
        <tbody>
          {projects.map((project) => (
            <ProjectRow key={project.id} project={project} />
          ))}
        </tbody>
      </table>
    </div>
  </section>
);

const ProjectRow = ({ project: { id, tenantId, name } }: { readonly project: Project }) => {
  const { data, error } = useQuery(projectStatsQuery(id));
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
      {error === null ? <StatsCells stats={data} /> : <td colSpan={5}>{error.message}</td>}
    </tr>
  );
};

const StatsCells = ({ stats }: { readonly stats: ProjectStats | undefined }) => (
  <>
    <td className="number">{stats?.traceCount.toLocaleString() ?? "…"}</td>
    <td className={`number ${(stats?.errorRate ?? 0) > 0 ? "bad" : ""}`}>
      {stats?.errorRate === undefined ? "" : formatShare(stats.errorRate)}
    </td>
    <td className="number">{formatOptional(stats?.latencyP50Ms, formatDuration)}</td>
    <td className="number">{formatOptional(stats?.latencyP99Ms, formatDuration)}</td>
    <td className="nowrap">{formatOptional(stats?.newestMs, formatTime)}</td>
  </>
);

const formatOptional = (value: number | undefined, format: (value: number) => string): string =>
  value === undefined ? "" : format(value);

const formatShare = (share: number): string =>
  `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
