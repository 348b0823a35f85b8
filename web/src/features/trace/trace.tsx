import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { AbsentView } from "../../components/page/absent-view.tsx";
import { Empty } from "../../components/page/states.tsx";
import { parseListSearch } from "../runs/run-list-search.ts";
import type { ProjectAddress } from "../runs/run-list-search.ts";
import { createTraceQuery } from "./queries.ts";
import { TraceBody } from "./trace-body.tsx";
import { TraceHeader } from "./header/trace-header.tsx";
import { useTraceAddress } from "./use-trace-address.ts";
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
  const { search, change } = useTraceAddress();
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
      <TraceHeader
        address={address}
        traceId={traceId}
        runId={runId}
        trace={hasRuns ? trace : undefined}
      >
        {backLink}
      </TraceHeader>
      {hasRuns ? (
        <TraceBody
          source={{ kind: "project", address }}
          trace={trace}
          traceId={traceId}
          runId={runId}
          search={search}
          change={change}
        />
      ) : (
        <Empty title="Trace not found">
          <p>If its runs are still being sent, the trace appears here when they arrive.</p>
        </Empty>
      )}
    </>
  );
};
