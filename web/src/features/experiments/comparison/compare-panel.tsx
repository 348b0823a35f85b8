import { ActionIcon } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEscape } from "../../../components/keyboard/escape.ts";
import { Code } from "../../../components/code/code.tsx";
import { Failure, Loading } from "../../../components/page/states.tsx";
import { formatJson } from "../../../components/text/json-text.ts";
import { diffBases } from "./compare-search.ts";
import { RunOutput, formatOutputs } from "./compared-run.tsx";
import type { ComparisonContext } from "./comparison-context.ts";
import { createExampleRunsQuery } from "../queries.ts";
import type { ExampleRun } from "../queries.ts";

const route = getRouteApi("/o/$tenantId/datasets/$datasetId/compare");

/**
 * A panel with the complete outputs for one example, each compared with the output of the baseline or with the
 * reference outputs.
 */
export const ComparePanel = ({
  context,
  datasetId,
  exampleId,
  onClose,
}: {
  readonly context: ComparisonContext;
  readonly datasetId: string;
  readonly exampleId: string;
  readonly onClose: () => void;
}) => {
  const { against = "baseline" } = route.useSearch();
  useEscape(onClose);
  const navigate = route.useNavigate();
  const { experimentIds: experiments } = context;
  const { data, error, refetch } = useQuery(
    createExampleRunsQuery(datasetId, { experiments, exampleId }),
  );
  const baseline = data?.runs.find(({ experimentId }) => experimentId === context.baselineId);
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
                void navigate({
                  search: (current) => ({ ...current, against: base }),
                  replace: true,
                })
              }
            >
              vs. {base}
            </button>
          ))}
        </span>
        <ActionIcon variant="subtle" color="gray" aria-label="Close example" onClick={onClose}>
          ✕
        </ActionIcon>
      </div>
      {data === undefined && error === null && <Loading resourceName="the example" />}
      {data === undefined && error !== null && (
        <Failure resourceName="the example" error={error} onRetry={refetch} />
      )}
      {data !== undefined && (
        <>
          <section className="example-part">
            <h2>Inputs</h2>
            <Code label="Inputs" language="json" readOnly value={formatJson(data.inputs ?? {})} />
          </section>
          {context.experimentIds.flatMap((id) =>
            data.runs
              .filter(({ experimentId }) => experimentId === id)
              .map((run, index) => (
                <RunOutput
                  key={run.id}
                  context={context}
                  run={run}
                  repetition={index}
                  comparedWith={toDiffBase({ against, run, baseline, reference: data.reference })}
                />
              )),
          )}
        </>
      )}
    </aside>
  );
};

/** Returns the text to compare a run's output with; `undefined` to show the output without a diff. */
function toDiffBase({
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
    return reference === undefined ? undefined : formatOutputs(reference);
  }
  return baseline === undefined || baseline.id === run.id
    ? undefined
    : formatOutputs(baseline.outputs);
}
