import { Link } from "@tanstack/react-router";
import { toErrorLine } from "./comparison.ts";
import type { ComparedRow, ComparedRun } from "./comparison.ts";
import { counted } from "../../components/text/quantity.ts";
import { formatDuration } from "../../components/time/time.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { PayloadText } from "../datasets/examples/example-columns.tsx";
import type { Contest } from "./comparison-context.ts";
import { ScoreMark } from "./score-mark.tsx";

/** What an experiment answered for an example, its scores, and where its trace is. */
export const Answer = ({
  contest,
  row,
  id,
}: {
  readonly contest: Contest;
  readonly row: ComparedRow;
  readonly id: string;
}) => {
  const runs = row.runs[id] ?? [];
  const [first] = runs;
  if (first === undefined) {
    return <span className="quiet">not run</span>;
  }
  const isBaseline = id === contest.baselineId;
  return (
    <>
      <div className="compare-output">
        {first.hasError ? (
          <span className="bad">{toVisibleText(toErrorLine(first.error))}</span>
        ) : (
          <PayloadText of={first.outputs} />
        )}
      </div>
      <div className="compare-scores">
        {Object.entries(row.scores[id] ?? {}).map(([key, score]) => (
          <ScoreMark
            key={key}
            name={key}
            score={score}
            baseline={isBaseline ? undefined : row.scores[contest.baselineId]?.[key]}
            isLowerBetter={contest.lower.has(key)}
          />
        ))}
      </div>
      <div className="compare-facts">
        <RunFacts run={first} />
        {runs.length > 1 && <span>{counted(runs.length, "run")}, means</span>}
        <Link
          to="/o/$tenantId/projects/p/$projectId"
          params={{ tenantId: contest.tenantId, projectId: id }}
          search={{ trace: first.traceId, run: first.id }}
        >
          Trace
        </Link>
      </div>
    </>
  );
};

const RunFacts = ({ run }: { readonly run: ComparedRun }) => (
  <>
    {run.latencyMs !== undefined && <span>{formatDuration(run.latencyMs)}</span>}
    {run.tokens !== undefined && <span>{counted(run.tokens, "token")}</span>}
  </>
);
