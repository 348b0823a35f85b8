import type { ReactNode } from "react";
import { createCostFormat } from "../../components/text/cost.ts";
import type { Column } from "../../components/table/data-table.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import { formatDuration } from "../../components/time/time.ts";
import type { ExperimentStatus } from "./experiment-status.ts";
import type { Experiment } from "./experiment.ts";
import { ScoreMark } from "./score-mark.tsx";

/** Maximum number of score columns in the table. */
const maxScoreColumns = 12;
const statusColumnId = "status";
const scorePrefix = "score ";

/** Whether a column shows a score. The list has a column for each feedback key of the loaded experiments. */
export const isScoreColumn = (columnId: string): boolean => columnId.startsWith(scorePrefix);

/** The columns of the experiment list, with the status and one column per score, compared with the baseline. */
export function toExperimentColumns(
  experiments: readonly Experiment[],
  baseline: Experiment | undefined,
  readStatus: (experiment: Experiment) => ExperimentStatus,
): readonly Column<Experiment>[] {
  // Collect the feedback keys in the order of the start times, so that sorting the list does not move the columns.
  const newestFirst = experiments.toSorted((left, right) => right.startMs - left.startMs);
  const keys = [...new Set(newestFirst.flatMap(({ scores }) => Object.keys(scores)))];
  return [
    {
      id: "name",
      title: "Experiment",
      sort: "asc",
      sortValue: ({ name }) => name,
      width: 200,
      grow: 2,
      isFixed: true,
      isShownWhenNarrow: true,
      renderCell: ({ id, name, splits, versionTag }) => (
        <>
          <bdi>{toVisibleText(name)}</bdi>
          {id === baseline?.id && <span className="tag">baseline</span>}
          {splits.map((split) => (
            <span key={split} className="tag" title="Split of the examples">
              {toVisibleText(split)}
            </span>
          ))}
          {versionTag !== undefined && (
            <span className="tag" title="Version of the dataset">
              {toVisibleText(versionTag)}
            </span>
          )}
        </>
      ),
    },
    {
      id: statusColumnId,
      title: "Status",
      sort: "asc",
      sortValue: (experiment) => readStatus(experiment).label,
      width: 196,
      grow: 2,
      renderCell: (experiment) => <StatusText status={readStatus(experiment)} />,
    },
    ...keys.slice(0, maxScoreColumns).map((key): Column<Experiment> => ({
      id: scorePrefix + key,
      title: toVisibleText(key),
      sort: "desc",
      sortValue: ({ scores }) => scores[key],
      width: 132,
      renderCell: ({ id, scores }) => (
        <ScoreMark
          score={scores[key]}
          baseline={id === baseline?.id ? undefined : baseline?.scores[key]}
          isLowerBetter={false}
        />
      ),
    })),
    ...createStatisticColumns(createCostFormat(experiments.flatMap(({ cost }) => cost ?? []))),
  ];
}

const StatusText = ({ status: { kind, label, reason } }: { readonly status: ExperimentStatus }) => {
  const text = reason === undefined ? label : `${label}: ${reason}`;
  return (
    <span className="status experiment-status" data-status={statusColors[kind]} title={text}>
      <span>{text}</span>
    </span>
  );
};

/** Maps statuses of experiments to statuses of runs with the same color. Statuses that are left out have no color. */
const statusColors: { readonly [Kind in ExperimentStatus["kind"]]?: "error" | "pending" } = {
  failed: "error",
  partial: "error",
  running: "pending",
};

const valuesPerLine = 2;
/** The height of the status, and of a line with titles and values of other columns, in pixels. */
const statusHeight = 24;
const valueLineHeight = 40;

/** The height of the lines that `renderExperimentDetail` renders, in pixels. */
export const toDetailHeight = (columns: readonly Column<Experiment>[]): number =>
  statusHeight + Math.ceil(columns.filter(isDetailColumn).length / valuesPerLine) * valueLineHeight;

/**
 * Renders the values that have no column on a narrow screen: the status, and each other value below the title of its
 * column.
 */
export const renderExperimentDetail = (
  experiment: Experiment,
  columns: readonly Column<Experiment>[],
): ReactNode => (
  <div className="experiment-detail">
    {columns.find(({ id }) => id === statusColumnId)?.renderCell(experiment)}
    {columns.filter(isDetailColumn).map((column) => (
      <span key={column.id} data-title={column.title}>
        {column.renderCell(experiment)}
      </span>
    ))}
  </div>
);

/** Whether `renderExperimentDetail` shows the value of a column below the column's title. */
const isDetailColumn = ({ id, isShownWhenNarrow = false }: Column<Experiment>): boolean =>
  !isShownWhenNarrow && id !== statusColumnId;

/** Shown in place of a number that the server could not read in time. */
const noStatistics = (
  <span title="The statistics could not be read in time. Reload to try again.">–</span>
);

const createStatisticColumns = (
  formatCost: (cost: number) => string,
): readonly Column<Experiment>[] => [
  {
    id: "errors",
    title: "Error rate",
    sort: "desc",
    sortValue: ({ errorRate }) => errorRate,
    width: 84,
    align: "end",
    renderCell: ({ runCount, errorRate = 0 }) =>
      runCount === undefined ? (
        noStatistics
      ) : (
        <span className={errorRate > 0 ? "bad" : ""}>{(errorRate * 100).toFixed(0)} %</span>
      ),
  },
  {
    id: "latency",
    title: "p50 latency",
    sort: "desc",
    sortValue: ({ latencyP50Ms }) => latencyP50Ms,
    width: 104,
    align: "end",
    tooltip: "Median latency",
    renderCell: ({ latencyP50Ms }) =>
      latencyP50Ms === undefined ? "–" : formatDuration(latencyP50Ms),
  },
  {
    id: "tokens",
    title: "Tokens",
    sort: "desc",
    sortValue: ({ tokens }) => tokens,
    width: 84,
    align: "end",
    renderCell: ({ tokens = 0 }) => (tokens === 0 ? "–" : tokens.toLocaleString("en")),
  },
  {
    id: "cost",
    title: "Cost",
    sort: "desc",
    sortValue: ({ cost }) => cost,
    width: 84,
    align: "end",
    renderCell: ({ cost }) => (cost === undefined ? "–" : formatCost(cost)),
  },
  {
    id: "runs",
    title: "Runs",
    sort: "desc",
    sortValue: ({ runCount }) => runCount,
    width: 72,
    align: "end",
    renderCell: ({ runCount }) => runCount?.toLocaleString("en") ?? noStatistics,
  },
  {
    id: "start",
    title: "Started",
    sort: "desc",
    width: 100,
    isShownWhenNarrow: true,
    renderCell: ({ startMs }) => <Ago timeMs={startMs} />,
  },
];
