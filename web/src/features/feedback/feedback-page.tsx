import { NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { formatCount } from "../../components/chart/chart-data.ts";
import { AbsentView } from "../../components/page/absent-view.tsx";
import { Empty, Failure, Loading } from "../../components/page/states.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { projectSearchQuery, projectQuery } from "../projects/queries.ts";
import { feedbackDays } from "./feedback-search.ts";
import type { FeedbackSearch } from "./feedback-search.ts";
import type { FeedbackTrend } from "./feedback.ts";
import { trendQuery } from "./queries.ts";
import { RecentFeedback } from "./recent-feedback.tsx";
import { TrendCharts } from "./trend-charts.tsx";
import "./feedback.css";

const route = getRouteApi("/o/$tenantId/feedback");

/** `/o/{tenantId}/feedback`: how a project was judged, by key, over time. */
export const FeedbackPage = () => {
  const { data: projects, error, refetch } = useQuery(projectSearchQuery(""));
  const { tenantId } = route.useParams();
  const search = route.useSearch();
  const projectId = search.project ?? projects?.[0]?.id;
  // The list may be too long to hold the one that the address names; or there is none of that id.
  const isListed =
    projectId === undefined || (projects?.some(({ id }) => id === projectId) ?? true);
  const named = useQuery({ ...projectQuery(projectId ?? ""), enabled: !isListed });
  if (!isListed && named.data === undefined) {
    return (
      <AbsentView title="Feedback" what="the project" error={named.error} onRetry={named.refetch}>
        <Link to="/o/$tenantId/feedback" params={{ tenantId }} search={{}}>
          Feedback of another project
        </Link>
      </AbsentView>
    );
  }
  const known = named.data === undefined ? projects : [...(projects ?? []), named.data];
  return (
    <div className="page">
      <title>Feedback · Millrace</title>
      <div className="page-head">
        <h1>Feedback</h1>
        {known !== undefined && known.length > 0 && (
          <Choices projects={known} search={search} projectId={projectId} />
        )}
      </div>
      {projects === undefined && error === null && <Loading what="projects" />}
      {projects === undefined && error !== null && (
        <Failure what="the projects" error={error} onRetry={refetch} />
      )}
      {projects !== undefined && projectId === undefined && (
        <Empty title="No project yet.">
          <p>Record runs, then judge them: here, from a program, or by a link for your users.</p>
          <Link to="/">How to record a first run</Link>
        </Empty>
      )}
      {projectId !== undefined && projects !== undefined && (
        <ScoredCount key={projectId} projectId={projectId} search={search} />
      )}
    </div>
  );
};

const Choices = ({
  projects,
  search,
  projectId,
}: {
  readonly projects: readonly { readonly id: string; readonly name: string }[];
  readonly search: FeedbackSearch;
  readonly projectId: string | undefined;
}) => {
  const go = useSearchChange();
  return (
    <div className="tools">
      <NativeSelect
        aria-label="Project"
        value={projectId}
        onChange={({ target: { value } }) => go({ ...toDays(search), project: value })}
      >
        {projects.map(({ id, name }) => (
          <option key={id} value={id}>
            {toVisibleText(name)}
          </option>
        ))}
      </NativeSelect>
      <NativeSelect
        aria-label="Days"
        value={search.days ?? 30}
        onChange={({ target: { value } }) => {
          const days = feedbackDays.find((one) => String(one) === value);
          go(days === undefined ? search : { ...search, days });
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

const toDays = ({ days }: FeedbackSearch): FeedbackSearch => (days === undefined ? {} : { days });

const ScoredCount = ({
  projectId,
  search,
}: {
  readonly projectId: string;
  readonly search: FeedbackSearch;
}) => {
  const { tenantId } = route.useParams();
  const days = search.days ?? 30;
  const request = { projectId, key: search.key, days };
  const { data: trend, error, refetch } = useQuery(trendQuery(request));
  const go = useSearchChange();
  if (trend === undefined) {
    return error === null ? (
      <Loading what="feedback" />
    ) : (
      <Failure what="the feedback" error={error} onRetry={refetch} />
    );
  }
  return (
    <>
      {trend.keys.length === 0 ? (
        <Empty
          title={
            days === 1 ? "No feedback in the last day." : `No feedback in the last ${days} days.`
          }
        >
          <p>Judge a run on its page, send scores from a program, or give your users a link.</p>
          <Link
            to="/o/$tenantId/projects/p/$projectId"
            params={{ tenantId, projectId }}
            search={{}}
          >
            The runs of the project
          </Link>
        </Empty>
      ) : (
        <div className="feedback-trend">
          <KeyList
            keys={trend.keys}
            selected={trend.key}
            onSelect={(key) => go({ ...search, key })}
          />
          <TrendCharts trend={trend} />
        </div>
      )}
      <RecentFeedback projectId={projectId} keyName={search.key} />
    </>
  );
};

function useSearchChange(): (search: FeedbackSearch) => void {
  const navigate = useNavigate();
  const { tenantId } = route.useParams();
  return (search) => void navigate({ to: "/o/$tenantId/feedback", params: { tenantId }, search });
}

/** Keys that the project was judged under, the most frequent first. */
const KeyList = ({
  keys,
  selected,
  onSelect,
}: {
  readonly keys: FeedbackTrend["keys"];
  readonly selected: string;
  readonly onSelect: (key: string) => void;
}) => (
  <ul className="feedback-keys" aria-label="Keys">
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
