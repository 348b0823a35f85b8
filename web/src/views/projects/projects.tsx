import { useQuery } from "@tanstack/react-query";
import { projectsQuery } from "../../api/projects.ts";
import { ProjectTable } from "../home/project-table.tsx";
import { Empty, Failure, Loading } from "../states.tsx";

/** `/o/{tenantId}/projects`: the tenant's projects. */
export const Projects = () => {
  const { data: projects, error, refetch } = useQuery(projectsQuery);
  return (
    <div className="page">
      <title>Projects · Millrace</title>
      {projects === undefined && error === null && <Loading what="projects" />}
      {projects === undefined && error !== null && (
        <Failure what="the projects" error={error} onRetry={refetch} />
      )}
      {projects?.length === 0 && <Empty title="No project yet." />}
      {projects !== undefined && projects.length > 0 && <ProjectTable projects={projects} />}
    </div>
  );
};
