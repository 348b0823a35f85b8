import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { isMissing } from "../../../api/failure.ts";
import { AbsentView } from "../../../components/page/absent-view.tsx";
import { Empty, Failure, Loading } from "../../../components/page/states.tsx";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { createDatasetQuery } from "../../datasets/queries.ts";
import type { Experiment } from "../experiment.ts";
import { chooseBaseline, usePinnedBaseline } from "../baseline.ts";
import { CompareFilters } from "./compare-filters.tsx";
import { ComparePanel } from "./compare-panel.tsx";
import { CompareRows } from "./compare-rows.tsx";
import { parseIds, parseKeys } from "./compare-search.ts";
import { CompareSummary } from "./compare-summary.tsx";
import type { ComparisonContext } from "./comparison-context.ts";
import {
  comparisonRefreshMs,
  createComparedExperimentsQuery,
  createComparedStatisticsQuery,
  createComparisonQuery,
  createExperimentNamesQuery,
} from "../queries.ts";
import { useRefreshAtEnd } from "../use-refresh-at-end.ts";
import { ExperimentJobs } from "../launch/experiment-jobs.tsx";
import { isActive } from "../launch/launch.ts";
import type { ExperimentJob } from "../launch/launch.ts";
import { createExperimentJobsQuery } from "../launch/queries.ts";
import "../../datasets/datasets.css";
import "../experiments.css";

const noStatistics: ReadonlyMap<string, Experiment> = new Map();

const route = getRouteApi("/o/$tenantId/datasets/$datasetId/compare");

/** The page `/o/{tenantId}/datasets/{datasetId}/compare`, which shows experiments on one dataset side by side. */
export const ExperimentComparison = () => {
  const { tenantId, datasetId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const experimentIds = useMemo(() => parseIds(search.experiments), [search.experiments]);
  const dataset = useQuery(createDatasetQuery(datasetId));
  const listedExperiments = useQuery(createExperimentNamesQuery(datasetId));
  const { data: jobs } = useQuery(createExperimentJobsQuery(experimentIds));
  const compared = useQuery({
    ...createComparedExperimentsQuery(experimentIds),
    refetchInterval: ({ state: { data } }) =>
      isAnyRunning(data?.runningIds, jobs) ? comparisonRefreshMs : false,
  });
  const isRunning = isAnyRunning(compared.data?.runningIds, jobs);
  const [pinnedId] = usePinnedBaseline(datasetId);
  const baselineId =
    search.baseline ?? chooseBaseline(experimentIds, pinnedId, compared.data?.starts ?? new Map());
  const pages = useInfiniteQuery({
    ...createComparisonQuery(datasetId, { ...search, baseline: baselineId }),
    // Wait for the start times of the experiments, which are needed to choose the baseline.
    enabled: experimentIds.length > 0 && compared.isFetched,
    // A refetch reads all loaded pages again, so the interval grows with their number.
    refetchInterval: ({ state: { data } }) =>
      isRunning ? comparisonRefreshMs * Math.ceil((data?.pages.length ?? 1) / 4) : false,
  });
  const statistics = useQuery({
    ...createComparedStatisticsQuery(experimentIds),
    refetchInterval: isRunning ? comparisonRefreshMs : false,
  });
  useRefreshAtEnd(isRunning, pages.refetch);
  useRefreshAtEnd(isRunning, statistics.refetch);
  const firstPage = pages.data?.pages[0];
  const names = compared.data?.names;
  const context = useMemo(
    (): ComparisonContext => ({
      experimentIds,
      baselineId,
      names: new Map([...(names ?? [])].map(([id, name]) => [id, toVisibleText(name)])),
      lowerIsBetterKeys: new Set(parseKeys(search.lower)),
      tenantId,
    }),
    [experimentIds, baselineId, names, search.lower, tenantId],
  );
  const rows = useMemo(() => pages.data?.pages.flatMap((page) => page.rows) ?? [], [pages.data]);
  const onOpen = useCallback(
    (exampleId: string) =>
      void navigate({ search: (current) => ({ ...current, example: exampleId }) }),
    [navigate],
  );
  const title = search.comparative === undefined ? "Compare experiments" : "Pairwise comparison";
  if (dataset.data === undefined && isMissing(dataset.error)) {
    return (
      <AbsentView
        title={title}
        resourceName="the dataset"
        error={dataset.error}
        onRetry={dataset.refetch}
      >
        <Link to="/o/$tenantId/datasets" params={{ tenantId }}>
          Datasets
        </Link>
      </AbsentView>
    );
  }
  return (
    <div className="fill">
      <title>Compare experiments · Millrace</title>
      <div className="heading">
        <div>
          <p className="crumbs">
            <Link
              to="/o/$tenantId/datasets/$datasetId"
              params={{ tenantId, datasetId }}
              search={{ tab: search.comparative === undefined ? "experiments" : "comparisons" }}
            >
              <bdi>{toVisibleText(dataset.data?.name ?? "Dataset")}</bdi>
            </Link>
          </p>
          <h1>{title}</h1>
        </div>
        {isRunning && <span className="live on">Running</span>}
      </div>
      <ExperimentJobs experimentIds={experimentIds} />
      {experimentIds.length === 0 && (
        <Empty title="No experiments selected">
          <Link
            to="/o/$tenantId/datasets/$datasetId"
            params={{ tenantId, datasetId }}
            search={{ tab: "experiments" }}
          >
            Select experiments
          </Link>
        </Empty>
      )}
      {experimentIds.length > 0 && firstPage === undefined && pages.error === null && (
        <Loading resourceName="the comparison" />
      )}
      {firstPage === undefined && pages.error !== null && (
        <Failure resourceName="the comparison" error={pages.error} onRetry={pages.refetch} />
      )}
      {firstPage !== undefined && (
        <div className="dataset-body">
          <div className="dataset-list compare-list">
            <CompareSummary
              context={context}
              page={firstPage}
              statistics={statistics.data ?? noStatistics}
              chartedName={search.key}
            />
            <CompareFilters
              context={context}
              page={firstPage}
              experiments={listedExperiments.data ?? []}
            />
            <CompareRows
              context={context}
              rows={rows}
              openId={search.example}
              onOpen={onOpen}
              hasMore={pages.hasNextPage}
              onMore={() => void (pages.isFetching ? undefined : pages.fetchNextPage())}
            />
          </div>
          {search.example !== undefined && (
            <ComparePanel
              key={search.example}
              context={context}
              datasetId={datasetId}
              exampleId={search.example}
              onClose={() => void navigate({ search: ({ example: _closed, ...others }) => others })}
            />
          )}
        </div>
      )}
    </div>
  );
};

/**
 * Whether an experiment is running. If the server runs the experiment in a job, the state of the job decides, because
 * the times of an experiment do not show that its job has failed or was canceled.
 */
const isAnyRunning = (
  runningIds: readonly string[] = [],
  jobs: readonly ExperimentJob[] = [],
): boolean => {
  const jobsById = new Map(jobs.map((job) => [job.experimentId, job]));
  return jobs.some(isActive) || runningIds.some((id) => jobsById.get(id) === undefined);
};
