import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, Navigate } from "@tanstack/react-router";
import { AbsentView } from "../../components/page/absent-view.tsx";
import { createTraceRunQuery } from "./queries.ts";

const route = getRouteApi("/o/$tenantId/projects/p/$projectId/r/$runId");

/** The view of `/o/{tenant}/projects/p/{project}/r/{run}`: redirects to the run in its trace. */
export const RunLink = () => {
  const { tenantId, projectId, runId } = route.useParams();
  const { data: run, error, refetch } = useQuery(createTraceRunQuery(runId));
  if (run === undefined) {
    return (
      <AbsentView title="Run" resourceName="the run" error={error} onRetry={refetch}>
        <Link to="/o/$tenantId/projects/p/$projectId" params={{ tenantId, projectId }} search={{}}>
          Back to the project
        </Link>
      </AbsentView>
    );
  }
  const { id, traceId } = run;
  return (
    <Navigate
      to="/o/$tenantId/projects/p/$projectId"
      params={{ tenantId, projectId: run.projectId ?? projectId }}
      search={id === traceId ? { trace: traceId } : { trace: traceId, run: id }}
      replace
    />
  );
};
