import { Button } from "@mantine/core";
import { useQueries, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { formatCount } from "../../components/chart/chart-data.ts";
import { TextDiff } from "../../components/code/text-diff.tsx";
import { ScrollX } from "../../components/page/scroll-x.tsx";
import { ErrorChain } from "../../components/payload/error-chain.tsx";
import { formatDollars } from "../../components/text/cost.ts";
import { Failure, Loading } from "../../components/page/states.tsx";
import { Payload } from "../../components/payload/payload.tsx";
import { formatJson } from "../../components/text/json-text.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { formatDuration, formatTime } from "../../components/time/time.ts";
import { createComparedRunQuery, createRunItemsQuery, figureFields } from "./queries.ts";
import { RunTypeBadge, StatusBadge } from "./run-badges.tsx";
import type { RunItem } from "./run-item.ts";
import type { ProjectAddress } from "./run-list-search.ts";
import type { RunDetails } from "./run.ts";

/**
 * Compares two runs: shows their latency, tokens and cost, the differences between their inputs, outputs, errors and
 * metadata, and both runs side by side.
 */
export const CompareRuns = ({
  address,
  runIds,
  onClose,
}: {
  readonly address: ProjectAddress;
  readonly runIds: readonly string[];
  readonly onClose: () => void;
}) => {
  const results = useQueries({ queries: runIds.map(createComparedRunQuery) });
  const failedResult = results.find(({ error }) => error !== null);
  const [before, after] = results.map(({ data }) => data);
  return (
    <section className="compare" aria-label="Compare runs">
      <div className="heading">
        <h1>Compare runs</h1>
        <Button size="compact-sm" variant="default" onClick={onClose}>
          Back to the run list
        </Button>
      </div>
      {failedResult?.error !== null && failedResult?.error !== undefined && (
        <Failure
          resourceName="a run"
          error={failedResult.error}
          onRetry={failedResult.refetch}
          isSingleResource
        />
      )}
      {before === undefined || after === undefined ? (
        failedResult === undefined && <Loading resourceName="the runs" />
      ) : (
        <div className="compare-body">
          <CompareFacts runs={[before, after]} address={address} />
          {comparedFields.map(({ label, language, read }) => (
            <TextDiff
              key={label}
              label={label}
              language={language}
              before={read(before)}
              after={read(after)}
            />
          ))}
          <h2>Inputs and outputs</h2>
          <div className="compare-pair">
            {[before, after].map((run, index) => (
              <RunColumn key={run.id} run={run} letter={index === 0 ? "A" : "B"} />
            ))}
          </div>
        </div>
      )}
    </section>
  );
};

/** The fields that are compared line by line. An error is compared as text, so each call of its stack is a line. */
const comparedFields: readonly {
  readonly label: string;
  readonly language: "json" | "text";
  readonly read: (run: RunDetails) => string;
}[] = [
  { label: "Inputs", language: "json", read: ({ inputs }) => formatJson(inputs ?? null) },
  { label: "Outputs", language: "json", read: ({ outputs }) => formatJson(outputs ?? null) },
  { label: "Error", language: "text", read: ({ error }) => error ?? "" },
  { label: "Metadata", language: "json", read: ({ metadata }) => formatJson(metadata) },
];

/** A table of the status, the start, the latency, the tokens and the cost of the two runs, with the differences. */
const CompareFacts = ({
  runs,
  address,
}: {
  readonly runs: readonly [RunDetails, RunDetails];
  readonly address: ProjectAddress;
}) => {
  const { data: items = [] } = useQuery(
    createRunItemsQuery(
      address.projectId,
      runs.map(({ id }) => id),
      figureFields,
    ),
  );
  const findItem = ({ id }: RunDetails): RunItem | undefined =>
    items.find((item) => item.id === id);
  return (
    <ScrollX label="Facts of the runs">
      <table className="projects compare-facts-table">
        <thead>
          <tr>
            <th scope="col">Run</th>
            {runs.map((run, index) => (
              <th key={run.id} scope="col">
                {index === 0 ? "A: " : "B: "}
                <Link
                  to="/o/$tenantId/projects/p/$projectId"
                  params={{ ...address }}
                  search={{ trace: run.traceId, run: run.id }}
                >
                  {toVisibleText(run.name)}
                </Link>
              </th>
            ))}
            <th scope="col" className="number">
              Difference
            </th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">Status</th>
            {runs.map((run) => (
              <td key={run.id}>
                <StatusBadge status={run.status} /> <RunTypeBadge type={run.runType} />
              </td>
            ))}
            <td className="number">–</td>
          </tr>
          <tr>
            <th scope="row">Start</th>
            {runs.map((run) => (
              <td key={run.id}>{formatTime(run.startMs)}</td>
            ))}
            <td className="number">–</td>
          </tr>
          {comparedFigures.map(({ label, read, format }) => {
            const [first, second] = runs.map((run) => read(run, findItem(run)));
            return (
              <tr key={label}>
                <th scope="row">{label}</th>
                {[first, second].map((figure, index) => (
                  <td key={runs[index]?.id} className="tabular">
                    {figure === undefined ? "–" : format(figure)}
                  </td>
                ))}
                <td className="number">{formatDifference(first, second, format)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </ScrollX>
  );
};

const comparedFigures: readonly {
  readonly label: string;
  readonly read: (run: RunDetails, item: RunItem | undefined) => number | undefined;
  readonly format: (figure: number) => string;
}[] = [
  {
    label: "Latency",
    read: ({ startMs, endMs }) => (endMs === undefined ? undefined : endMs - startMs),
    format: formatDuration,
  },
  {
    label: "First token",
    read: ({ startMs }, item) =>
      item?.firstTokenMs === undefined ? undefined : item.firstTokenMs - startMs,
    format: formatDuration,
  },
  { label: "Tokens", read: (_, item) => item?.tokens, format: formatCount },
  { label: "Cost", read: (_, item) => item?.cost, format: formatDollars },
];

/** Formats the difference between two numbers with its sign, and as a percentage of the first number. */
export function formatDifference(
  first: number | undefined,
  second: number | undefined,
  format: (figure: number) => string,
): string {
  if (first === undefined || second === undefined) {
    return "";
  }
  const difference = second - first;
  if (difference === 0) {
    return "=";
  }
  const sign = difference > 0 ? "+" : "−";
  const percentage =
    first === 0 ? "" : ` (${sign}${Math.round((Math.abs(difference) / first) * 100)} %)`;
  return `${sign}${format(Math.abs(difference))}${percentage}`;
}

const RunColumn = ({ run, letter }: { readonly run: RunDetails; readonly letter: string }) => (
  <article>
    <h3>
      {letter}: {toVisibleText(run.name)}
    </h3>
    {run.error !== undefined && <ErrorChain error={run.error} />}
    <Payload label="Inputs" value={run.inputs} />
    <Payload label="Outputs" value={run.outputs} />
  </article>
);
