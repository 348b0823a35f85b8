import { Button, NativeSelect } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import type { ReactNode } from "react";
import { Empty } from "../../components/page/states.tsx";
import { maxSortedRows, useCompleteSort } from "../../components/table/complete-sort.ts";
import { DataTable } from "../../components/table/data-table.tsx";
import type { RowLinkProps } from "../../components/table/data-table.tsx";
import { removeRepeatedRows } from "../../components/table/repeated-rows.ts";
import { SortNotice } from "../../components/table/sort-notice.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { usePinnedBaseline } from "./baseline.ts";
import {
  isScoreColumn,
  renderExperimentDetail,
  toDetailHeight,
  toExperimentColumns,
} from "./experiment-columns.tsx";
import { toExperimentStatus } from "./experiment-status.ts";
import type { Experiment } from "./experiment.ts";
import { experimentJobsQuery } from "./launch/queries.ts";
import { NewComparison } from "./new-comparison.tsx";
import { comparisonRefreshMs, createExperimentsQuery } from "./queries.ts";
import { useRefreshAtEnd } from "./use-refresh-at-end.ts";
import "./experiments.css";

const route = getRouteApi("/o/$tenantId/datasets/$datasetId");
const noSelection: ReadonlySet<string> = new Set();

/** The experiments on a dataset, with their scores compared with a baseline. */
export const Experiments = ({
  datasetId,
  tenantId,
}: {
  readonly datasetId: string;
  readonly tenantId: string;
}) => {
  const navigate = route.useNavigate();
  const sortSearch = route.useSearch();
  // The server sorts only by the start time. To sort by another column, the browser first loads all experiments.
  const startOrder = sortSearch.sort === "start" ? (sortSearch.order ?? "desc") : "desc";
  const { pages, experiments, readStatus } = useExperiments(datasetId, startOrder);
  const [isDialogOpen, setIsDialogOpen] = useState(false);
  const [selection, setSelection] = useState(noSelection);
  const [baselineId, setBaselineId] = usePinnedBaseline(datasetId);
  const baseline = experiments?.find(({ id }) => id === baselineId);
  const columns = useMemo(
    () => toExperimentColumns(experiments ?? [], baseline, readStatus),
    [experiments, baseline, readStatus],
  );
  const renderDetail = useCallback(
    (experiment: Experiment) => renderExperimentDetail(experiment, columns),
    [columns],
  );
  const sorting = useCompleteSort({
    pages,
    rows: experiments,
    listKey: `${datasetId} ${startOrder}`,
    columns,
    search: sortSearch,
    isLaterColumn: isScoreColumn,
  });
  // The baseline is the first column, and the others follow in the order in which they were run.
  const getStartMs = (id: string): number =>
    id === baselineId
      ? -Infinity
      : (experiments?.find((experiment) => experiment.id === id)?.startMs ?? 0);
  const comparedIds = [...selection].toSorted(
    (left, right) => getStartMs(left) - getStartMs(right),
  );
  return (
    <div className="dataset-list">
      <div className="example-filters">
        <NativeSelect
          size="xs"
          aria-label="Baseline"
          value={baselineId}
          data={[
            { value: "", label: "No baseline" },
            ...(experiments ?? []).map(({ id, name }) => ({
              value: id,
              label: `Baseline: ${toVisibleText(name)}`,
            })),
          ]}
          onChange={({ currentTarget }) => setBaselineId(currentTarget.value)}
        />
        {selection.size === 0 && (
          <Button
            size="xs"
            renderRoot={(props) => (
              <Link
                to="/o/$tenantId/datasets/$datasetId/new-experiment"
                params={{ tenantId, datasetId }}
                {...props}
              />
            )}
          >
            New experiment
          </Button>
        )}
        {selection.size > 0 && (
          <Button
            size="xs"
            renderRoot={(props) => (
              <Link
                to="/o/$tenantId/datasets/$datasetId/compare"
                params={{ tenantId, datasetId }}
                search={{ experiments: comparedIds.join(",") }}
                {...props}
              />
            )}
          >
            Compare selected ({selection.size})
          </Button>
        )}
        {selection.size > 1 && (
          <Button size="xs" variant="default" onClick={() => setIsDialogOpen(true)}>
            New pairwise comparison
          </Button>
        )}
      </div>
      <SortNotice resourceName="experiments" sorting={sorting} error={pages.error}>
        There are more than {maxSortedRows.toLocaleString("en")} experiments. A list of this length
        can be sorted only by “Started”.
      </SortNotice>
      <DataTable
        resourceName="experiments"
        rows={sorting.rows}
        sort={sorting.sort}
        onSort={({ column, order }) =>
          void navigate({
            search: (current) => ({ ...current, sort: column, order }),
            replace: true,
          })
        }
        getRowId={({ id }) => id}
        columns={sorting.columns}
        renderNarrowDetail={renderDetail}
        narrowDetailHeight={toDetailHeight(columns)}
        renderLink={toLink({ tenantId, datasetId, baseline: baseline?.id })}
        selection={selection}
        onSelection={setSelection}
        hasMore={pages.hasNextPage}
        onLoadMore={() => void (pages.isFetching ? undefined : pages.fetchNextPage())}
        error={pages.error}
        onRetry={pages.refetch}
        emptyState={
          <Empty title="No experiments yet">
            <p>
              Run a prompt with a model on these examples, or evaluate a program with{" "}
              <code>evaluate</code> from <code>millrace/evaluation</code>.
            </p>
          </Empty>
        }
      />
      {isDialogOpen && (
        <NewComparison
          datasetId={datasetId}
          tenantId={tenantId}
          experiments={comparedIds.map((id) => ({
            id,
            name: experiments?.find((experiment) => experiment.id === id)?.name ?? id,
          }))}
          onClose={() => setIsDialogOpen(false)}
        />
      )}
    </div>
  );
};

/**
 * The experiments with their statuses. While an experiment is running, the statistics are read again at intervals, and
 * once more when it ends.
 */
function useExperiments(datasetId: string, startOrder: "asc" | "desc") {
  const { data: jobs } = useQuery(experimentJobsQuery);
  const jobsById = useMemo(
    () => new Map((jobs ?? []).map((job) => [job.experimentId, job])),
    [jobs],
  );
  const findRunning = (listedExperiments: readonly Experiment[] = []): Experiment | undefined =>
    listedExperiments.find((experiment) => {
      const { kind } = toExperimentStatus(experiment, jobsById.get(experiment.id), Date.now());
      return kind === "queued" || kind === "running";
    });
  const pages = useInfiniteQuery({
    ...createExperimentsQuery(datasetId, startOrder),
    // A refetch reads all loaded pages again, so the interval grows with their number.
    refetchInterval: ({ state: { data } }) =>
      findRunning(data?.pages.flat()) === undefined
        ? false
        : comparisonRefreshMs * (data?.pages.length ?? 1),
  });
  const { data, dataUpdatedAt: readMs } = pages;
  const experiments = useMemo(() => data && removeRepeatedRows(data.pages.flat()), [data]);
  useRefreshAtEnd(findRunning(experiments) !== undefined, pages.refetch);
  const readStatus = useCallback(
    (experiment: Experiment) => toExperimentStatus(experiment, jobsById.get(experiment.id), readMs),
    [jobsById, readMs],
  );
  return { pages, experiments, readStatus };
}

const toLink =
  ({
    tenantId,
    datasetId,
    baseline,
  }: {
    readonly tenantId: string;
    readonly datasetId: string;
    readonly baseline: string | undefined;
  }) =>
  ({ id }: Experiment, linkProps: RowLinkProps): ReactNode => {
    const experiments = baseline === undefined || baseline === id ? id : `${baseline},${id}`;
    return (
      <Link
        to="/o/$tenantId/datasets/$datasetId/compare"
        params={{ tenantId, datasetId }}
        search={{ experiments }}
        {...linkProps}
      />
    );
  };
