import type { Column } from "../../components/table/data-table.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import { formatDuration } from "../../components/time/time.ts";
import type { Experiment } from "./experiment.ts";
import { ScoreMark } from "./score-mark.tsx";

/** Columns of scores; a table of more is read sideways. */
const keysShown = 12;

/** The columns of a list of experiments: one for each score, held against the baseline. */
export function toExperimentColumns(
  experiments: readonly Experiment[],
  baseline: Experiment | undefined,
): readonly Column<Experiment>[] {
  const keys = [...new Set(experiments.flatMap(({ scores }) => Object.keys(scores)))];
  return [
    {
      id: "name",
      title: "Experiment",
      width: 200,
      grow: 2,
      isFixed: true,
      isNarrow: true,
      cell: ({ id, name }) => (
        <>
          <bdi>{toVisibleText(name)}</bdi>
          {id === baseline?.id && <span className="tag">baseline</span>}
        </>
      ),
    },
    ...keys.slice(0, keysShown).map((key, index): Column<Experiment> => ({
      id: `score ${key}`,
      title: toVisibleText(key),
      width: 132,
      isNarrow: index === 0,
      cell: ({ id, scores }) => (
        <ScoreMark
          score={scores[key]}
          baseline={id === baseline?.id ? undefined : baseline?.scores[key]}
          isLowerBetter={false}
        />
      ),
    })),
    ...plainColumns,
  ];
}

const plainColumns: readonly Column<Experiment>[] = [
  {
    id: "errors",
    title: "Errors",
    width: 72,
    align: "end",
    cell: ({ errorRate = 0 }) => (
      <span className={errorRate > 0 ? "bad" : ""}>{(errorRate * 100).toFixed(0)} %</span>
    ),
  },
  {
    id: "latency",
    title: "p50",
    width: 84,
    align: "end",
    note: "Median latency",
    cell: ({ latencyP50Ms }) => (latencyP50Ms === undefined ? "–" : formatDuration(latencyP50Ms)),
  },
  {
    id: "tokens",
    title: "Tokens",
    width: 84,
    align: "end",
    cell: ({ tokens = 0 }) => (tokens === 0 ? "–" : tokens.toLocaleString("en")),
  },
  {
    id: "cost",
    title: "Cost",
    width: 84,
    align: "end",
    cell: ({ cost }) => (cost === undefined ? "–" : `$${cost.toFixed(4)}`),
  },
  {
    id: "runs",
    title: "Runs",
    width: 72,
    align: "end",
    cell: ({ runCount }) => runCount.toLocaleString("en"),
  },
  { id: "start", title: "Started", width: 100, cell: ({ startMs }) => <Ago at={startMs} /> },
];
