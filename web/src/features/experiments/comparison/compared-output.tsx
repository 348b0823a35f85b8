import { pluralize } from "../../../components/text/quantity.ts";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { formatDuration } from "../../../components/time/time.ts";
import { PayloadText } from "../../datasets/examples/example-columns.tsx";
import type { ComparisonContext } from "./comparison-context.ts";
import { toErrorLine } from "./comparison.ts";
import type { ComparedRow, ComparedRun } from "./comparison.ts";
import { ScoreMark } from "../score-mark.tsx";

/**
 * An experiment's output for an example, with its scores and a link to its trace. The link is a plain `<a>`: the
 * table handles clicks on it, and navigates with the router.
 */
export const ComparedOutput = ({
  context,
  row,
  experimentId,
}: {
  readonly context: ComparisonContext;
  readonly row: ComparedRow;
  readonly experimentId: string;
}) => {
  const runs = row.runs[experimentId] ?? [];
  const [firstRun] = runs;
  if (firstRun === undefined) {
    return <span className="quiet">Not run</span>;
  }
  const isBaseline = experimentId === context.baselineId;
  return (
    <>
      <div className="compare-output">
        {firstRun.hasError ? (
          <span className="bad">{toVisibleText(toErrorLine(firstRun.error))}</span>
        ) : (
          <PayloadText preview={firstRun.outputs} />
        )}
      </div>
      <div className="compare-scores">
        {Object.entries(row.scores[experimentId] ?? {}).map(([key, score]) => (
          <ScoreMark
            key={key}
            name={key}
            score={score}
            baseline={isBaseline ? undefined : row.scores[context.baselineId]?.[key]}
            isLowerBetter={context.lowerIsBetterKeys.has(key)}
          />
        ))}
      </div>
      <div className="compare-facts">
        <RunFacts run={firstRun} />
        <a href={toTracePath(context, experimentId, firstRun)}>Open trace</a>
        {runs.length > 1 && <span>{pluralize(runs.length, "run")} (mean scores)</span>}
      </div>
    </>
  );
};

const RunFacts = ({ run }: { readonly run: ComparedRun }) => (
  <>
    {run.latencyMs !== undefined && <span>{formatDuration(run.latencyMs)}</span>}
    {run.tokens !== undefined && <span>{pluralize(run.tokens, "token")}</span>}
  </>
);

const toTracePath = (
  { tenantId }: ComparisonContext,
  experimentId: string,
  { traceId, id }: ComparedRun,
): string => `/o/${tenantId}/projects/p/${experimentId}?trace=${traceId}&run=${id}`;
