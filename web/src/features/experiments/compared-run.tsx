import { Link } from "@tanstack/react-router";
import { toRecord } from "../../api/parse.ts";
import { Code } from "../../components/code/code.tsx";
import { TextDiff } from "../../components/code/text-diff.tsx";
import { formatJson } from "../../components/text/json-text.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { colorOf, nameOf } from "./comparison-context.ts";
import type { ComparisonContext } from "./comparison-context.ts";
import type { ExampleRun } from "./queries.ts";

/** One answer, against another or as it is. */
export const RunPart = ({
  context,
  run,
  repetition,
  before,
}: {
  readonly context: ComparisonContext;
  readonly run: ExampleRun;
  readonly repetition: number;
  readonly before: string | undefined;
}) => {
  const name = nameOf(context, run.experimentId);
  const after = toText(run.outputs);
  return (
    <section className="example-part">
      <h2 className="run-part-head">
        <span
          className="experiment-label"
          style={{ borderColor: `var(${colorOf(context, run.experimentId)})` }}
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
      {before === undefined ? (
        <Code label={`Output of ${name}`} readOnly value={after} />
      ) : (
        <TextDiff label={`Output of ${name}`} before={before} after={after} />
      )}
    </section>
  );
};

/** An answer that is one text is compared as it reads, not as JSON. */
export function toText(outputs: unknown): string {
  const values = Object.values(toRecord(outputs));
  const [only] = values;
  if (values.length === 1 && typeof only === "string") {
    return only;
  }
  return outputs === undefined ? "" : formatJson(outputs);
}
