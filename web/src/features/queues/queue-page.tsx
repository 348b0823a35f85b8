import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { usePersonName } from "../../components/text/person-name.ts";
import { AbsentView } from "../../components/page/absent-view.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { createQueueQuery } from "./queries.ts";
import { QueueHeading } from "./queue-heading.tsx";
import { QueueRuns } from "./queue-runs.tsx";
import { ReviewSessionView } from "./review/review-session.tsx";
import { ReviewerEntry } from "./reviewer-entry.tsx";
import "./queues.css";
import "./review/review.css";

const route = getRouteApi("/o/$tenantId/annotation-queues/$queueId");

/** The page `/o/{tenantId}/annotation-queues/{queueId}`: reviews the runs of a queue, or lists them. */
export const QueuePage = () => {
  const { tenantId, queueId } = route.useParams();
  const { run, view } = route.useSearch();
  const { data: queue, error, refetch } = useQuery(createQueueQuery(queueId));
  const [reviewer, setReviewer] = usePersonName();
  if (queue === undefined) {
    return (
      <AbsentView title="Annotation queue" resourceName="the queue" error={error} onRetry={refetch}>
        <Link to="/o/$tenantId/annotation-queues" params={{ tenantId }}>
          Annotation queues
        </Link>
      </AbsentView>
    );
  }
  return (
    <div className="fill">
      <title>{`${toVisibleText(queue.name)} · Millrace`}</title>
      <QueueHeading
        queue={queue}
        tenantId={tenantId}
        view={view}
        reviewer={reviewer}
        onReviewer={setReviewer}
      />
      {view === "runs" && <QueueRuns queue={queue} tenantId={tenantId} />}
      {view === undefined && reviewer === "" && <ReviewerEntry onName={setReviewer} />}
      {view === undefined && reviewer !== "" && (
        <ReviewSessionView
          // The key resets all state when the reviewer changes, so that nobody sees another's drafts.
          key={reviewer}
          queue={queue}
          session={{ queueId, reviewer }}
          tenantId={tenantId}
          positionId={run}
        />
      )}
    </div>
  );
};
