import { pluralize } from "../../components/text/quantity.ts";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { AbsentView } from "../../components/page/absent-view.tsx";
import { Empty } from "../../components/page/states.tsx";
import { formatDuration, formatTime } from "../../components/time/time.ts";
import { parseListSearch } from "../runs/run-list-search.ts";
import type { ProjectAddress } from "../runs/run-list-search.ts";
import { createTraceQuery, traceRunLimit } from "./queries.ts";
import type { LoadedTrace } from "./queries.ts";
import { computeFullRange } from "./time-scale.ts";
import { TraceBody } from "./trace-body.tsx";
import { sumModelCalls, TraceCost } from "./trace-cost.tsx";
import { statusCodes } from "./trace-model.ts";
import "./trace.css";

interface TraceProps {
  readonly address: ProjectAddress;
  readonly projectName: string;
  readonly traceId: string;
  readonly runId: string;
}

/** The view of one trace: its tree with the waterfall, and the details of the selected run. */
export const Trace = ({ address, projectName, traceId, runId }: TraceProps) => {
  const { data: trace, error, refetch } = useQuery(createTraceQuery(traceId));
  const backLink = (
    <Link
      to="/o/$tenantId/projects/p/$projectId"
      params={{ ...address }}
      search={(current) => parseListSearch({ ...current })}
    >
      ← <bdi>{projectName}</bdi>
    </Link>
  );
  if (trace === undefined) {
    return (
      <AbsentView title="Trace" resourceName="the trace" error={error} onRetry={refetch}>
        {backLink}
      </AbsentView>
    );
  }
  const hasRuns = trace.model.count > 0;
  return (
    <>
      <div className="heading trace-heading">
        {backLink}
        {hasRuns ? <TraceSummary trace={trace} /> : <h1>Trace</h1>}
      </div>
      {hasRuns ? (
        <TraceBody trace={trace} traceId={traceId} runId={runId} />
      ) : (
        <Empty title="Trace not found">
          <p>If its runs are still being sent, the trace appears here when they arrive.</p>
        </Empty>
      )}
    </>
  );
};

const TraceSummary = ({
  trace: { model, readMs, isTruncated },
}: {
  readonly trace: LoadedTrace;
}) => {
  const { from, to } = computeFullRange(model, readMs * 1_000 - model.baseMicros);
  const errorCount = model.statuses.reduce(
    (count, status) => count + (status === statusCodes.error ? 1 : 0),
    0,
  );
  const isRunning = model.statuses.includes(statusCodes.pending);
  const tokens = sumModelCalls(model, model.tokens);
  return (
    <p className="summary">
      <span>
        {model.count.toLocaleString()} {model.count === 1 ? "run" : "runs"}
      </span>
      <span>{formatDuration((to - from) / 1_000)}</span>
      {errorCount > 0 && (
        <span className="bad">
          {errorCount.toLocaleString()} {errorCount === 1 ? "error" : "errors"}
        </span>
      )}
      {tokens > 0 && <span>{pluralize(tokens, "token")}</span>}
      <TraceCost model={model} />
      {isRunning && <span className="live on">Running</span>}
      {isTruncated && (
        <span className="bad">Only the first {traceRunLimit.toLocaleString()} runs are shown</span>
      )}
      <span>{formatTime((model.baseMicros + from) / 1_000)}</span>
    </p>
  );
};
