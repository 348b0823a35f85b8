import { TextInput } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useLiveReport } from "../../api/live-feed.ts";
import { useSearchShortcut } from "../../components/keyboard/list-keys.ts";
import { Empty, Failure, Loading } from "../../components/page/states.tsx";
import { OverviewRangeControl } from "../metrics/overview-range-control.tsx";
import { createOverviewQuery } from "../metrics/overview.ts";
import { useOverviewRange } from "../metrics/use-overview-range.ts";
import { ExperimentList } from "./experiment-list.tsx";
import { ProjectTable } from "./project-table.tsx";
import { createProjectSearchQuery } from "./queries.ts";

const route = getRouteApi("/o/$tenantId/projects");

/** The page `/o/{tenantId}/projects`, which lists the tenant's projects and searches them by name. */
export const Projects = () => {
  const { name = "" } = route.useSearch();
  const { tenantId } = route.useParams();
  const navigate = useNavigate();
  const { liveReport } = useLiveReport();
  const [range, setRange] = useOverviewRange();
  const { data: overview } = useQuery(createOverviewQuery(range));
  const searchField = useSearchShortcut("Search projects by name");
  const result = useQuery({ ...createProjectSearchQuery(name), placeholderData: keepPreviousData });
  const { data: allProjects, error, refetch } = result;
  const projects = allProjects?.filter(({ isExperiment }) => !isExperiment);
  const experiments = allProjects?.filter(({ isExperiment }) => isExperiment) ?? [];
  return (
    <div className="page">
      <title>Projects · Millrace</title>
      <div className="page-head">
        <h1>Projects</h1>
        <TextInput
          ref={searchField}
          type="search"
          aria-label="Search projects by name"
          placeholder="Search names"
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
        <OverviewRangeControl range={range} onRange={setRange} />
      </div>
      {projects === undefined && error === null && <Loading resourceName="projects" />}
      {projects === undefined && error !== null && (
        <Failure resourceName="the projects" error={error} onRetry={refetch} />
      )}
      {projects?.length === 0 && experiments.length === 0 && (
        <Empty title={name === "" ? "No projects yet" : "No matching projects"}>
          {name === "" && <Link to="/">Record your first run</Link>}
        </Empty>
      )}
      {projects !== undefined && projects.length > 0 && (
        <ProjectTable
          title={projects.length === 1 ? "1 project" : `${projects.length} projects`}
          projects={projects}
          range={range}
          overview={overview}
          liveReport={liveReport}
        />
      )}
      {experiments.length > 0 && <ExperimentList experiments={experiments} />}
      {allProjects?.length === maxProjects && (
        <p className="note">
          Showing the first {maxProjects} projects. Search by name to find others.
        </p>
      )}
    </div>
  );
};

const maxProjects = 500;
