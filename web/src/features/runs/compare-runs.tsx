import { Button } from "@mantine/core";
import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { TextDiff } from "../../components/code/text-diff.tsx";
import { Failure, Loading } from "../../components/page/states.tsx";
import { Payload } from "../../components/payload/payload.tsx";
import { formatJson } from "../../components/text/json-text.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { formatDuration, formatTime } from "../../components/time/time.ts";
import { createComparedRunQuery } from "./queries.ts";
import { RunTypeBadge, StatusBadge } from "./run-badges.tsx";
import type { ProjectAddress } from "./run-list-search.ts";
import type { RunDetails } from "./run.ts";

/** Two runs side by side, and the differences of their inputs, outputs and metadata. */
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
          <div className="compare-pair">
            {[before, after].map((run) => (
              <RunColumn key={run.id} run={run} address={address} />
            ))}
          </div>
          {comparedFields.map(({ label, read }) => (
            <TextDiff
              key={label}
              label={label}
              language="json"
              before={formatJson(read(before))}
              after={formatJson(read(after))}
            />
          ))}
        </div>
      )}
    </section>
  );
};

const comparedFields: readonly {
  readonly label: string;
  readonly read: (run: RunDetails) => unknown;
}[] = [
  { label: "Inputs", read: ({ inputs }) => inputs ?? null },
  { label: "Outputs", read: ({ outputs }) => outputs ?? null },
  { label: "Metadata", read: ({ metadata }) => metadata },
];

const RunColumn = ({
  run,
  address,
}: {
  readonly run: RunDetails;
  readonly address: ProjectAddress;
}) => (
  <article>
    <h2>
      <Link
        to="/o/$tenantId/projects/p/$projectId"
        params={{ ...address }}
        search={{ trace: run.traceId, run: run.id }}
      >
        {toVisibleText(run.name)}
      </Link>
    </h2>
    <p className="summary">
      <RunTypeBadge type={run.runType} />
      <StatusBadge status={run.status} />
      <span>{formatTime(run.startMs)}</span>
      <span>{run.endMs === undefined ? "Running" : formatDuration(run.endMs - run.startMs)}</span>
    </p>
    {run.error !== undefined && <p className="bad">{toVisibleText(run.error.slice(0, 2_000))}</p>}
    <Payload label="Inputs" value={run.inputs} />
    <Payload label="Outputs" value={run.outputs} />
  </article>
);
