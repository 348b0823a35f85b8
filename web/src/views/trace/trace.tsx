import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { traceQuery } from "../../api/runs.ts";
import { formatDuration, formatTime } from "../../lib/time.ts";
import { toTraceRows } from "../../lib/trace-rows.ts";
import type { TraceRows } from "../../lib/trace-rows.ts";
import type { Place } from "../runs/place.ts";
import { Empty, Failure, Loading } from "../states.tsx";
import { RunPanel } from "./run-panel.tsx";
import { TraceTree } from "./trace-tree.tsx";

interface TraceProps {
  readonly place: Place;
  readonly projectName: string;
  readonly traceId: string;
  readonly runId: string;
}

/** One trace: its tree, and what was recorded of the run that is selected in it. */
export const Trace = ({ place, projectName, traceId, runId }: TraceProps) => {
  const { data: runs, error, refetch, dataUpdatedAt } = useQuery(traceQuery(traceId));
  const trace = useMemo(
    () => (runs === undefined ? undefined : toTraceRows(runs, dataUpdatedAt)),
    [runs, dataUpdatedAt],
  );
  const onSelect = useSelect(place, traceId);
  return (
    <>
      <div className="heading">
        <Link to="/o/$tenantId/projects/p/$projectId" params={{ ...place }} search={{}}>
          ← <bdi>{projectName}</bdi>
        </Link>
        {trace !== undefined && trace.rows.length > 0 && <Summary trace={trace} />}
      </div>
      {trace === undefined && error === null && <Loading what="the trace" />}
      {trace === undefined && error !== null && (
        <Failure what="the trace" error={error} onRetry={refetch} />
      )}
      {trace?.rows.length === 0 && (
        <Empty title="There is no such trace.">
          <p>It may not have arrived yet; it shows here as soon as it does.</p>
        </Empty>
      )}
      {trace !== undefined && trace.rows.length > 0 && (
        <div className="trace">
          <TraceTree trace={trace} selectedId={runId} onSelect={onSelect} />
          <RunPanel runId={runId} />
        </div>
      )}
    </>
  );
};

const Summary = ({ trace: { rows, startMs, spanMs } }: { readonly trace: TraceRows }) => {
  const errors = rows.filter(({ run }) => run.status === "error").length;
  return (
    <p className="summary">
      <span>
        {rows.length.toLocaleString()} {rows.length === 1 ? "run" : "runs"}
      </span>
      <span>{formatDuration(spanMs)}</span>
      {errors > 0 && (
        <span className="bad">
          {errors.toLocaleString()} with {errors === 1 ? "an error" : "errors"}
        </span>
      )}
      <span>{formatTime(startMs)}</span>
    </p>
  );
};

function useSelect({ tenantId, projectId }: Place, traceId: string): (runId: string) => void {
  const navigate = useNavigate();
  return useCallback(
    (runId) =>
      void navigate({
        to: "/o/$tenantId/projects/p/$projectId",
        params: { tenantId, projectId },
        search: runId === traceId ? { trace: traceId } : { trace: traceId, run: runId },
        // Walking through a trace leaves one step in the history, not one for each run.
        replace: true,
      }),
    [navigate, tenantId, projectId, traceId],
  );
}
