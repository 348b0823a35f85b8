import { Link } from "@tanstack/react-router";
import { toRecord } from "../../../api/parse.ts";
import { Code } from "../../../components/code/code.tsx";
import { TextDiff } from "../../../components/code/text-diff.tsx";
import { formatJson } from "../../../components/text/json-text.ts";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { getExperimentColor, getExperimentName } from "./comparison-context.ts";
import type { ComparisonContext } from "./comparison-context.ts";
import type { ExampleRun } from "../queries.ts";

/** Shows the output of one run, or a diff between that output and another text. */
export const RunOutput = ({
  context,
  run,
  repetition,
  comparedWith,
}: {
  readonly context: ComparisonContext;
  readonly run: ExampleRun;
  /** Index among the experiment's runs on this example. */
  readonly repetition: number;
  /** The text to diff the output with; `undefined` to show only the output. */
  readonly comparedWith: string | undefined;
}) => {
  const name = getExperimentName(context, run.experimentId);
  const output = formatOutputs(run.outputs);
  return (
    <section className="example-part">
      <h2 className="run-part-head">
        <span
          className="experiment-label"
          style={{ borderColor: `var(${getExperimentColor(context, run.experimentId)})` }}
        >
          {name}
          {repetition > 0 && `, run ${repetition + 1}`}
        </span>
        <Link
          to="/o/$tenantId/projects/p/$projectId"
          params={{ tenantId: context.tenantId, projectId: run.experimentId }}
          search={{ trace: run.traceId, run: run.id }}
        >
          Open trace
        </Link>
      </h2>
      {run.error !== undefined && (
        <p className="bad run-error">{toVisibleText(run.error.slice(0, 2_000))}</p>
      )}
      {comparedWith === undefined ? (
        <Code label={`Output of ${name}`} readOnly value={output} />
      ) : (
        <TextDiff label={`Output of ${name}`} before={comparedWith} after={output} />
      )}
    </section>
  );
};

/** Formats outputs for a diff. Outputs with a single string are compared as plain text, others as JSON. */
export function formatOutputs(outputs: unknown): string {
  const values = Object.values(toRecord(outputs));
  const [value] = values;
  if (values.length === 1 && typeof value === "string") {
    return value;
  }
  return outputs === undefined ? "" : formatJson(outputs);
}
