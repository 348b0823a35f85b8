import { TextInput } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useLiveReport } from "../../api/live-feed.ts";
import { useFindKey } from "../../components/keyboard/list-keys.ts";
import { Empty, Failure, Loading } from "../../components/page/states.tsx";
import { ProjectTable } from "./project-table.tsx";
import { projectSearchQuery } from "./queries.ts";

const route = getRouteApi("/o/$tenantId/projects");

/** `/o/{tenantId}/projects`: the tenant's projects, found by name. */
export const Projects = () => {
  const { name = "" } = route.useSearch();
  const { tenantId } = route.useParams();
  const navigate = useNavigate();
  const { live } = useLiveReport();
  const field = useFindKey("Find projects by name");
  const found = useQuery({ ...projectSearchQuery(name), placeholderData: keepPreviousData });
  const { data: projects, error, refetch } = found;
  return (
    <div className="page">
      <title>Projects · Millrace</title>
      <div className="page-head">
        <h1>Projects</h1>
        <TextInput
          ref={field}
          type="search"
          aria-label="Find projects by name"
          placeholder="Find by name"
          value={name}
          onChange={({ currentTarget: { value } }) =>
            void navigate({
              to: "/o/$tenantId/projects",
              params: { tenantId },
              search: value === "" ? {} : { name: value },
              replace: true,
            })
          }
        />
      </div>
      {projects === undefined && error === null && <Loading what="projects" />}
      {projects === undefined && error !== null && (
        <Failure what="the projects" error={error} onRetry={refetch} />
      )}
      {projects?.length === 0 && (
        <Empty title={name === "" ? "No project yet." : "No project has that in its name."}>
          {name === "" && <Link to="/">How to record a first run</Link>}
        </Empty>
      )}
      {projects !== undefined && projects.length > 0 && (
        <ProjectTable
          title={projects.length === 1 ? "1 project" : `${projects.length} projects`}
          projects={projects}
          live={live}
        />
      )}
      {projects?.length === projectsMax && (
        <p className="note">Only the first {projectsMax} are shown; find others by name.</p>
      )}
    </div>
  );
};

const projectsMax = 500;
