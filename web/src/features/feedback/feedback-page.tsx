import { NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { formatCount } from "../../components/chart/chart-data.ts";
import { AbsentView } from "../../components/page/absent-view.tsx";
import { Empty, Failure, Loading } from "../../components/page/states.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { findFirstProject, ProjectOptions } from "../projects/project-options.tsx";
import type { Project } from "../projects/project.ts";
import { createProjectSearchQuery, createProjectQuery } from "../projects/queries.ts";
import { feedbackDays, toPeriod } from "./feedback-search.ts";
import type { FeedbackSearch } from "./feedback-search.ts";
import type { FeedbackTrend } from "./feedback.ts";
import { createTrendQuery, latestFeedbackProjectQuery } from "./queries.ts";
import { RecentFeedback } from "./recent-feedback.tsx";
import { TrendCharts } from "./trend-charts.tsx";
import "./feedback.css";

const route = getRouteApi("/o/$tenantId/feedback");

/** The page `/o/{tenantId}/feedback`, which shows the feedback on a project by key and over time. */
export const FeedbackPage = () => {
  const { data: projects, error, refetch } = useQuery(createProjectSearchQuery(""));
  const { tenantId } = route.useParams();
  const search = route.useSearch();
  // Without a project in the URL, the page shows the project with the latest feedback.
  const latest = useQuery({ ...latestFeedbackProjectQuery, enabled: search.project === undefined });
  const defaultProjectId = latest.isPending
    ? undefined
    : (latest.data ?? findFirstProject(projects ?? [])?.id);
  const projectId = search.project ?? defaultProjectId;
  // The list of projects is limited, so the project in the URL may exist without being in the list.
  const isListed =
    projectId === undefined || (projects?.some(({ id }) => id === projectId) ?? true);
  const unlistedProject = useQuery({ ...createProjectQuery(projectId ?? ""), enabled: !isListed });
  if (!isListed && unlistedProject.data === undefined) {
    return (
      <AbsentView
        title="Feedback"
        resourceName="the project"
        error={unlistedProject.error}
        onRetry={unlistedProject.refetch}
      >
        <Link to="/o/$tenantId/feedback" params={{ tenantId }} search={{}}>
          Show another project
        </Link>
      </AbsentView>
    );
  }
  const selectableProjects =
    unlistedProject.data === undefined ? projects : [...(projects ?? []), unlistedProject.data];
  return (
    <div className="page">
      <title>Feedback · Millrace</title>
      <div className="page-head">
        <h1>Feedback</h1>
        {selectableProjects !== undefined && selectableProjects.length > 0 && (
          <FeedbackFilters projects={selectableProjects} search={search} projectId={projectId} />
        )}
      </div>
      {projects === undefined && error === null && <Loading resourceName="projects" />}
      {projects === undefined && error !== null && (
        <Failure resourceName="the projects" error={error} onRetry={refetch} />
      )}
      {projects !== undefined && projectId === undefined && !latest.isPending && (
        <Empty title="No projects yet">
          <p>
            Record runs, then add feedback in the UI, with the SDK, or through a feedback link for
            your users.
          </p>
          <Link to="/">Record your first run</Link>
        </Empty>
      )}
      {projectId !== undefined && projects !== undefined && (
        <ProjectFeedback key={projectId} projectId={projectId} search={search} />
      )}
    </div>
  );
};

const FeedbackFilters = ({
  projects,
  search,
  projectId,
}: {
  readonly projects: readonly Project[];
  readonly search: FeedbackSearch;
  readonly projectId: string | undefined;
}) => {
  const changeSearch = useSearchChange();
  return (
    <div className="tools">
      <NativeSelect
        aria-label="Project"
        value={projectId}
        onChange={({ target: { value } }) => changeSearch({ ...keepDays(search), project: value })}
      >
        <ProjectOptions projects={projects} />
      </NativeSelect>
      <NativeSelect
        aria-label="Time range"
        value={search.days ?? 30}
        onChange={({ target: { value } }) => {
          const days = feedbackDays.find((option) => String(option) === value);
          changeSearch(days === undefined ? search : { ...search, days });
        }}
      >
        {feedbackDays.map((days) => (
          <option key={days} value={days}>
            {days === 1 ? "Last day" : `Last ${days} days`}
          </option>
        ))}
      </NativeSelect>
    </div>
  );
};

const keepDays = ({ days }: FeedbackSearch): FeedbackSearch => (days === undefined ? {} : { days });

const ProjectFeedback = ({
  projectId,
  search,
}: {
  readonly projectId: string;
  readonly search: FeedbackSearch;
}) => {
  const { tenantId } = route.useParams();
  const days = search.days ?? 30;
  const request = { projectId, key: search.key, days };
  const { data: trend, error, refetch } = useQuery(createTrendQuery(request));
  const changeSearch = useSearchChange();
  const { from: _from, to: _to, ...searchWithoutPeriod } = search;
  if (trend === undefined) {
    return error === null ? (
      <Loading resourceName="feedback" />
    ) : (
      <Failure resourceName="the feedback" error={error} onRetry={refetch} />
    );
  }
  return (
    <>
      {trend.keys.length === 0 ? (
        <Empty
          title={
            days === 1 ? "No feedback in the last day" : `No feedback in the last ${days} days`
          }
        >
          <p>
            Add feedback on a run's page, send it with the SDK, or create a feedback link for your
            users.
          </p>
          <Link
            to="/o/$tenantId/projects/p/$projectId"
            params={{ tenantId, projectId }}
            search={{}}
          >
            View the runs of this project
          </Link>
        </Empty>
      ) : (
        <div className="feedback-trend">
          <KeyList
            keys={trend.keys}
            selected={trend.key}
            onSelect={(key) => changeSearch({ ...search, key })}
          />
          <TrendCharts
            trend={trend}
            address={{ tenantId, projectId }}
            onPeriod={({ fromMs, toMs }) =>
              changeSearch({
                ...search,
                from: new Date(fromMs).toISOString(),
                to: new Date(toMs).toISOString(),
              })
            }
          />
        </div>
      )}
      <RecentFeedback
        projectId={projectId}
        keyName={trend.keys.length === 0 ? search.key : trend.key}
        period={toPeriod(search)}
        onClearPeriod={() => changeSearch(searchWithoutPeriod)}
      />
    </>
  );
};

function useSearchChange(): (search: FeedbackSearch) => void {
  const navigate = useNavigate();
  const { tenantId } = route.useParams();
  return (search) => void navigate({ to: "/o/$tenantId/feedback", params: { tenantId }, search });
}

/** The feedback keys of the project, most frequent first. */
const KeyList = ({
  keys,
  selected,
  onSelect,
}: {
  readonly keys: FeedbackTrend["keys"];
  readonly selected: string;
  readonly onSelect: (key: string) => void;
}) => (
  <ul className="feedback-keys" aria-label="Feedback keys">
    {keys.map(({ key, n, mean }) => (
      <li key={key}>
        <button type="button" aria-pressed={key === selected} onClick={() => onSelect(key)}>
          <span className="feedback-key">{toVisibleText(key)}</span>
          <span className="feedback-count">
            {n.toLocaleString("en")}
            {mean !== null && ` · mean ${formatCount(mean)}`}
          </span>
        </button>
      </li>
    ))}
  </ul>
);
