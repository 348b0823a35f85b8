import { ActionIcon } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { exampleRunsQuery } from "../../api/experiments.ts";
import type { ExampleRun } from "../../api/experiments.ts";
import { diffBases } from "../../lib/compare-search.ts";
import { formatJson } from "../../lib/json-text.ts";
import { toRecord } from "../../lib/members.ts";
import { toVisibleText } from "../../lib/visible-text.ts";
import { Code } from "../../parts/code.tsx";
import { TextDiff } from "../../parts/text-diff.tsx";
import { Failure, Loading } from "../states.tsx";
import { colorOf, nameOf } from "./contest.ts";
import type { Contest } from "./contest.ts";

const route = getRouteApi("/o/$tenantId/datasets/$datasetId/compare");

/** One example: each answer whole, against the baseline's or the reference. */
export const ComparePanel = ({
  contest,
  datasetId,
  exampleId,
  onClose,
}: {
  readonly contest: Contest;
  readonly datasetId: string;
  readonly exampleId: string;
  readonly onClose: () => void;
}) => {
  const { against = "baseline" } = route.useSearch();
  const navigate = route.useNavigate();
  const { ids: experiments } = contest;
  const { data, error, refetch } = useQuery(
    exampleRunsQuery(datasetId, { experiments, exampleId }),
  );
  const baseline = data?.runs.find(({ experimentId }) => experimentId === contest.baselineId);
  return (
    <aside className="panel example-panel" aria-label="Example">
      <div className="example-panel-head">
        <h1>Example {exampleId.slice(0, 8)}</h1>
        <span className="tools">
          {diffBases.map((base) => (
            <button
              key={base}
              type="button"
              className="diff-kind"
              aria-pressed={base === against}
              onClick={() =>
                void navigate({ search: (now) => ({ ...now, against: base }), replace: true })
              }
            >
              against {base}
            </button>
          ))}
        </span>
        <ActionIcon variant="subtle" color="gray" aria-label="Close the example" onClick={onClose}>
          ✕
        </ActionIcon>
      </div>
      {data === undefined && error === null && <Loading what="the example" />}
      {data === undefined && error !== null && (
        <Failure what="the example" error={error} onRetry={refetch} />
      )}
      {data !== undefined && (
        <>
          <section className="example-part">
            <h2>Inputs</h2>
            <Code label="Inputs" language="json" readOnly value={formatJson(data.inputs ?? {})} />
          </section>
          {contest.ids.flatMap((id) =>
            data.runs
              .filter(({ experimentId }) => experimentId === id)
              .map((run, index) => (
                <RunPart
                  key={run.id}
                  contest={contest}
                  run={run}
                  repetition={index}
                  before={toBefore({ against, run, baseline, reference: data.reference })}
                />
              )),
          )}
        </>
      )}
    </aside>
  );
};

/** What an answer is held against; `undefined`: it is shown as it is. */
function toBefore({
  against,
  run,
  baseline,
  reference,
}: {
  readonly against: "baseline" | "reference";
  readonly run: ExampleRun;
  readonly baseline: ExampleRun | undefined;
  readonly reference: unknown;
}): string | undefined {
  if (against === "reference") {
    return reference === undefined ? undefined : toText(reference);
  }
  return baseline === undefined || baseline.id === run.id ? undefined : toText(baseline.outputs);
}

const RunPart = ({
  contest,
  run,
  repetition,
  before,
}: {
  readonly contest: Contest;
  readonly run: ExampleRun;
  readonly repetition: number;
  readonly before: string | undefined;
}) => {
  const name = nameOf(contest, run.experimentId);
  const after = toText(run.outputs);
  return (
    <section className="example-part">
      <h2 className="run-part-head">
        <span
          className="contestant"
          style={{ borderColor: `var(${colorOf(contest, run.experimentId)})` }}
        >
          {name}
          {repetition > 0 && `, run ${repetition + 1}`}
        </span>
        <Link
          to="/o/$tenantId/projects/p/$projectId"
          params={{ tenantId: contest.tenantId, projectId: run.experimentId }}
          search={{ trace: run.traceId, run: run.id }}
        >
          Open trace
        </Link>
      </h2>
      {run.error !== undefined && (
        <p className="bad run-error">{toVisibleText(run.error.slice(0, 2_000))}</p>
      )}
      {before === undefined ? (
        <Code label={`Output of ${name}`} readOnly value={after} />
      ) : (
        <TextDiff label={`Output of ${name}`} before={before} after={after} />
      )}
    </section>
  );
};

/** An answer that is one text is compared as it reads, not as JSON. */
function toText(outputs: unknown): string {
  const values = Object.values(toRecord(outputs));
  const [only] = values;
  if (values.length === 1 && typeof only === "string") {
    return only;
  }
  return outputs === undefined ? "" : formatJson(outputs);
}
