import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { projectsQuery } from "../../api/projects.ts";
import { toVisibleText } from "../../lib/visible-text.ts";
import { lazy, Suspense } from "react";
import { Loading } from "../states.tsx";
import { Runs } from "./runs.tsx";

const Trace = lazy(async () => ({ default: (await import("../trace/trace.tsx")).Trace }));

const route = getRouteApi("/o/$tenantId/projects/p/$projectId");

/** `/o/{tenantId}/projects/p/{projectId}`: the project's traces, or the one that the address selects. */
export const Project = () => {
  const { tenantId, projectId } = route.useParams();
  const search = route.useSearch();
  const { data: projects } = useQuery(projectsQuery);
  const name = toVisibleText(projects?.find(({ id }) => id === projectId)?.name ?? "Project");
  const place = { tenantId, projectId };
  return (
    <div className="fill">
      <title>{`${name} · Millrace`}</title>
      {search.trace === undefined ? (
        <Runs key={projectId} place={place} />
      ) : (
        <Suspense fallback={<Loading what="the trace" />}>
          <Trace
            key={search.trace}
            place={place}
            projectName={name}
            traceId={search.trace}
            runId={search.run ?? search.trace}
          />
        </Suspense>
      )}
    </div>
  );
};
