import { Button, NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { ReactNode } from "react";
import { experimentsQuery } from "../../api/experiments.ts";
import type { Experiment } from "../../lib/experiment.ts";
import { formatDuration } from "../../lib/time.ts";
import { toVisibleText } from "../../lib/visible-text.ts";
import { DataTable } from "../../parts/data-table.tsx";
import type { Column, RowLink } from "../../parts/data-table.tsx";
import { Ago } from "../../parts/time.tsx";
import { Empty } from "../states.tsx";
import { ScoreMark } from "./score-mark.tsx";
import "./experiments.css";

const none: ReadonlySet<string> = new Set();
/** Columns of scores; a table of more is read sideways. */
const keysShown = 12;

/** The experiments over a dataset, their scores against one of them. */
export const Experiments = ({
  datasetId,
  tenantId,
}: {
  readonly datasetId: string;
  readonly tenantId: string;
}) => {
  const { data: experiments, error, refetch } = useQuery(experimentsQuery(datasetId));
  const [selection, setSelection] = useState(none);
  const [chosen, setBaseline] = useState("");
  const baseline = experiments?.find(({ id }) => id === chosen);
  const columns = useMemo(() => toColumns(experiments ?? [], baseline), [experiments, baseline]);
  // The baseline first: the others are held against it.
  const ids = [...selection].toSorted((one) => (one === chosen ? -1 : 0));
  return (
    <div className="dataset-list">
      <div className="example-filters">
        <NativeSelect
          size="xs"
          aria-label="Baseline"
          value={chosen}
          data={[
            { value: "", label: "No baseline" },
            ...(experiments ?? []).map(({ id, name }) => ({
              value: id,
              label: `Baseline: ${toVisibleText(name)}`,
            })),
          ]}
          onChange={({ currentTarget }) => setBaseline(currentTarget.value)}
        />
        {selection.size > 0 && (
          <Button
            size="xs"
            renderRoot={(props) => (
              <Link
                to="/o/$tenantId/datasets/$datasetId/compare"
                params={{ tenantId, datasetId }}
                search={{ experiments: ids.join(",") }}
                {...props}
              />
            )}
          >
            Compare {selection.size}
          </Button>
        )}
      </div>
      <DataTable
        what="experiments"
        rows={experiments}
        rowId={({ id }) => id}
        columns={columns}
        link={toLink({ tenantId, datasetId, baseline: baseline?.id })}
        selection={selection}
        onSelection={setSelection}
        error={error}
        onRetry={refetch}
        empty={
          <Empty title="No experiments yet.">
            <p>
              Run an application on the examples with <code>evaluate</code>; each time is one.
            </p>
          </Empty>
        }
      />
    </div>
  );
};

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
  ({ id }: Experiment, part: RowLink): ReactNode => {
    const experiments = baseline === undefined || baseline === id ? id : `${baseline},${id}`;
    return (
      <Link
        to="/o/$tenantId/datasets/$datasetId/compare"
        params={{ tenantId, datasetId }}
        search={{ experiments }}
        {...part}
      />
    );
  };

function toColumns(
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
