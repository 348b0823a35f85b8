import { useQuery } from "@tanstack/react-query";
import { projectsQuery } from "../../api/projects.ts";
import { Failure, Loading } from "../states.tsx";
import { FirstRun } from "./first-run.tsx";
import { ProjectTable } from "./project-table.tsx";

/** `/`: what is in the server, or how to put something in. */
export const Home = () => {
  const { data: projects, error, refetch } = useQuery(projectsQuery);
  if (projects === undefined) {
    return error === null ? (
      <Loading what="projects" />
    ) : (
      <Failure what="the projects" error={error} onRetry={refetch} />
    );
  }
  return (
    <div className="page">
      <title>Millrace</title>
      {projects.length === 0 ? <FirstRun /> : <ProjectTable projects={projects} />}
    </div>
  );
};
