import { formatDollars } from "../../components/text/cost.ts";
import type { Column } from "../../components/table/data-table.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import { formatDuration } from "../../components/time/time.ts";
import type { Experiment } from "./experiment.ts";
import { ScoreMark } from "./score-mark.tsx";

/** Maximum number of score columns in the table. */
const maxScoreColumns = 12;

/** The columns of the experiment list, with one column per score, compared with the baseline. */
export function toExperimentColumns(
  experiments: readonly Experiment[],
  baseline: Experiment | undefined,
): readonly Column<Experiment>[] {
  const keys = [...new Set(experiments.flatMap(({ scores }) => Object.keys(scores)))];
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
    ...keys.slice(0, maxScoreColumns).map((key, index): Column<Experiment> => ({
      id: `score ${key}`,
      title: toVisibleText(key),
      sort: "desc",
      sortValue: ({ scores }) => scores[key],
      width: 132,
      isShownWhenNarrow: index === 0,
      renderCell: ({ id, scores }) => (
        <ScoreMark
          score={scores[key]}
          baseline={id === baseline?.id ? undefined : baseline?.scores[key]}
          isLowerBetter={false}
        />
      ),
    })),
    ...statisticColumns,
  ];
}

/** Shown in place of a number that the server could not read in time. */
const noStatistics = (
  <span title="The statistics could not be read in time. Reload to try again.">–</span>
);

const statisticColumns: readonly Column<Experiment>[] = [
  {
    id: "errors",
    title: "Errors",
    sort: "desc",
    sortValue: ({ errorRate }) => errorRate,
    width: 72,
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
    renderCell: ({ cost }) => (cost === undefined ? "–" : formatDollars(cost)),
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
    sortValue: ({ startMs }) => startMs,
    width: 100,
    renderCell: ({ startMs }) => <Ago timeMs={startMs} />,
  },
];
