import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, Navigate } from "@tanstack/react-router";
import { AbsentView } from "../../components/page/absent-view.tsx";
import { Empty } from "../../components/page/states.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { createViewQuery } from "../runs/saved-views/queries.ts";
import { canOpen, toViewSearch } from "../runs/saved-views/view.ts";

const route = getRouteApi("/o/$tenantId/projects/p/$projectId/views/$viewId");

/**
 * The page `/o/{tenantId}/projects/p/{projectId}/views/{viewId}`, which opens the runs of a saved view as it is now. A
 * link to this page stays correct when the view is edited.
 */
export const OpenView = () => {
  const { tenantId, projectId, viewId } = route.useParams();
  const { data: view, error, refetch } = useQuery(createViewQuery(projectId, viewId));
  const linkToViews = (
    <Link to="/o/$tenantId/projects/p/$projectId/views" params={{ tenantId, projectId }}>
      Saved views
    </Link>
  );
  if (view === undefined || canOpen(view)) {
    // Keep showing the loading state until the run list replaces this page.
    return (
      <>
        <AbsentView
          title="Saved view"
          resourceName="the saved view"
          error={error}
          onRetry={refetch}
          missingMessage="This view does not exist. It may have been deleted."
        >
          {linkToViews}
        </AbsentView>
        {view !== undefined && (
          <Navigate
            replace
            to="/o/$tenantId/projects/p/$projectId"
            params={{ tenantId, projectId }}
            search={toViewSearch(view)}
          />
        )}
      </>
    );
  }
  return (
    <div>
      <title>Saved view · Millrace</title>
      <div className="heading">
        <div>
          <p className="crumbs">{linkToViews}</p>
          <h1>{toVisibleText(view.name)}</h1>
        </div>
      </div>
      <Empty title="Usable only from the SDK">
        <p>
          The run list can’t apply this view, because it has conditions on other runs of the trace.
        </p>
      </Empty>
    </div>
  );
};
