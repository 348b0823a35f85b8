import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { AbsentView } from "../../components/page/absent-view.tsx";
import { Empty } from "../../components/page/states.tsx";
import { formatDuration, formatTime } from "../../components/time/time.ts";
import { parseListSearch } from "../runs/run-list-search.ts";
import type { ProjectAddress } from "../runs/run-list-search.ts";
import { traceQuery, traceRunLimit } from "./queries.ts";
import type { KnownTrace } from "./queries.ts";
import { spanOf } from "./time-scale.ts";
import { TraceBody } from "./trace-body.tsx";
import { statusCodes } from "./trace-model.ts";
import type { TraceModel } from "./trace-model.ts";
import "./trace.css";

interface TraceProps {
  readonly address: ProjectAddress;
  readonly projectName: string;
  readonly traceId: string;
  readonly runId: string;
}

/** One trace: its tree and waterfall, and what was recorded of the run that is selected in it. */
export const Trace = ({ address, projectName, traceId, runId }: TraceProps) => {
  const { data: trace, error, refetch } = useQuery(traceQuery(traceId));
  const back = (
    <Link
      to="/o/$tenantId/projects/p/$projectId"
      params={{ ...address }}
      search={(now) => parseListSearch({ ...now })}
    >
      ← <bdi>{projectName}</bdi>
    </Link>
  );
  if (trace === undefined) {
    return (
      <AbsentView title="Trace" what="the trace" error={error} onRetry={refetch}>
        {back}
      </AbsentView>
    );
  }
  const hasRuns = trace.model.count > 0;
  return (
    <>
      <div className="heading trace-heading">
        {back}
        {hasRuns ? <Summary trace={trace} /> : <h1>Trace</h1>}
      </div>
      {hasRuns ? (
        <TraceBody trace={trace} traceId={traceId} runId={runId} />
      ) : (
        <Empty title="There is no such trace.">
          <p>It may not have arrived yet; it shows here as soon as it does.</p>
        </Empty>
      )}
    </>
  );
};

const Summary = ({ trace: { model, readMs, isCut } }: { readonly trace: KnownTrace }) => {
  const { from, to } = spanOf(model, readMs * 1_000 - model.baseMicros);
  const errors = model.statuses.reduce(
    (count, status) => count + (status === statusCodes.error ? 1 : 0),
    0,
  );
  const open = model.statuses.includes(statusCodes.pending);
  const tokens = sumOf(model, model.tokens);
  const cost = sumOf(model, model.costs);
  return (
    <p className="summary">
      <span>
        {model.count.toLocaleString()} {model.count === 1 ? "run" : "runs"}
      </span>
      <span>{formatDuration((to - from) / 1_000)}</span>
      {errors > 0 && (
        <span className="bad">
          {errors.toLocaleString()} with {errors === 1 ? "an error" : "errors"}
        </span>
      )}
      {tokens > 0 && <span>{tokens.toLocaleString()} tokens</span>}
      {cost > 0 && <span>${cost.toFixed(cost < 0.1 ? 4 : 2)}</span>}
      {open && <span className="live on">Running</span>}
      {isCut && <span className="bad">the first {traceRunLimit.toLocaleString()} only</span>}
      <span>{formatTime((model.baseMicros + from) / 1_000)}</span>
    </p>
  );
};

/** Of model calls alone: those above them often repeat what they used. */
const sumOf = (model: TraceModel, values: ReadonlyMap<number, number>): number =>
  [...values].reduce((sum, [run, value]) => sum + (model.types[run] === "llm" ? value : 0), 0);
