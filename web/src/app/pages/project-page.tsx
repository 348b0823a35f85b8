import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { memo, Suspense, useDeferredValue, useEffect, useMemo, useRef } from "react";
import { isMissing } from "../../api/failure.ts";
import { AbsentView, PageLoading } from "../../components/page/absent-view.tsx";
import { createLazyView } from "../../components/page/load-chunk.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { createProjectQuery } from "../../features/projects/queries.ts";
import type { TablePosition } from "../../components/table/table-position.ts";
import { Runs } from "../../features/runs/runs.tsx";

const Trace = createLazyView(async () => import("../../features/trace/trace.tsx"), "Trace");

// When the selected run of a trace changes, the deferred value in `useShownView` changes after it. Without `memo`, the
// trace would then be rendered a second time.
const MemoizedTrace = memo(Trace);

const route = getRouteApi("/o/$tenantId/projects/p/$projectId");

/** The view of `/o/{tenantId}/projects/p/{projectId}`: the project's runs, or the trace that the URL selects. */
export const ProjectPage = () => {
  const { tenantId, projectId } = route.useParams();
  const view = useShownView(route.useSearch());
  const { data: project, error, refetch } = useQuery(createProjectQuery(projectId));
  const name = toVisibleText(project?.name ?? "Project");
  const address = useMemo(() => ({ tenantId, projectId }), [tenantId, projectId]);
  const positionRef = useRef<TablePosition>(undefined);
  // Load the code of the trace view while the list is shown, so that a click on a row requests the trace at once. If
  // the code does not load, the user sees this when opening a trace.
  useEffect(() => {
    const timer = setTimeout(() => void Trace.preload?.()?.catch(() => undefined));
    return () => clearTimeout(timer);
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
      {view === null && <PageLoading />}
      {view !== null && view.trace === undefined && (
        <Runs key={projectId} address={address} positionRef={positionRef} />
      )}
      {view !== null && view.trace !== undefined && (
        <Suspense fallback={<PageLoading />}>
          <MemoizedTrace
            key={view.trace}
            address={address}
            projectName={name}
            traceId={view.trace}
            runId={view.run ?? view.trace}
          />
        </Suspense>
      )}
    </div>
  );
};

/** What the page shows: a trace and the run that is selected in it or, without a trace, the list. */
interface View {
  readonly trace?: string;
  readonly run?: string;
}

/**
 * Returns the view to show; `null` when the page has just been opened. Rendering a list or a trace takes longer than a
 * frame. When the one replaces the other, it is therefore rendered in steps, between which the browser handles input,
 * and the previous view is shown until then. Another trace, or another run of the trace, is shown at once, because the
 * next key that is pressed belongs to it.
 */
function useShownView({ trace, run }: View): View | null {
  const current = useMemo<View>(
    () => (trace === undefined ? {} : { trace, ...(run === undefined ? {} : { run }) }),
    [trace, run],
  );
  const rendered = useDeferredValue<View | null>(current, null);
  const isSameKind = rendered !== null && (rendered.trace === undefined) === (trace === undefined);
  return isSameKind ? current : rendered;
}
