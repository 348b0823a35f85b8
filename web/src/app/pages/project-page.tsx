import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Suspense, useEffect, useRef } from "react";
import { isMissing } from "../../api/failure.ts";
import { AbsentView, PageLoading } from "../../components/page/absent-view.tsx";
import { createLazyView } from "../../components/page/load-chunk.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { createProjectQuery } from "../../features/projects/queries.ts";
import type { TablePosition } from "../../components/table/table-position.ts";
import { Runs } from "../../features/runs/runs.tsx";

const Trace = createLazyView(async () => import("../../features/trace/trace.tsx"), "Trace");

const route = getRouteApi("/o/$tenantId/projects/p/$projectId");

/** The view of `/o/{tenantId}/projects/p/{projectId}`: the project's runs, or the trace that the URL selects. */
export const ProjectPage = () => {
  const { tenantId, projectId } = route.useParams();
  const search = route.useSearch();
  const { data: project, error, refetch } = useQuery(createProjectQuery(projectId));
  const name = toVisibleText(project?.name ?? "Project");
  const address = { tenantId, projectId };
  const positionRef = useRef<TablePosition>(undefined);
  // The view of a trace loads beside the list. When a row is clicked, the trace is then requested at once. If the view did
  // not load, opening a trace says so.
  useEffect(() => {
    void Trace.preload?.()?.catch(() => undefined);
  }, []);
  if (project === undefined && isMissing(error)) {
    return (
      <AbsentView title="Project" resourceName="the project" error={error} onRetry={refetch}>
        <Link to="/o/$tenantId/projects" params={{ tenantId }}>
          Projects
        </Link>
      </AbsentView>
    );
  }
  return (
    <div className="fill">
      <title>{`${name} · Millrace`}</title>
      {search.trace === undefined ? (
        <Runs key={projectId} address={address} positionRef={positionRef} />
      ) : (
        <Suspense fallback={<PageLoading />}>
          <Trace
            key={search.trace}
            address={address}
            projectName={name}
            traceId={search.trace}
            runId={search.run ?? search.trace}
          />
        </Suspense>
      )}
    </div>
  );
};
