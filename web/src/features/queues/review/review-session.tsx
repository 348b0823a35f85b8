import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { ApiError } from "../../../api/http.ts";
import { Empty, Failure, Loading } from "../../../components/page/states.tsx";
import { pluralize } from "../../../components/text/quantity.ts";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { createProgressQuery } from "../queries.ts";
import type { ReviewSession } from "../queries.ts";
import type { Queue, QueueProgress } from "../queue.ts";
import { deleteOldDrafts } from "./review-draft.ts";
import { Review } from "./review.tsx";
import { useClaim, useOpenClaim } from "./use-claim.ts";

/** Claims a run and shows it for review, or shows why there is none. */
export const ReviewSessionView = ({
  queue,
  session,
  tenantId,
  positionId,
}: {
  readonly queue: Queue;
  readonly session: ReviewSession;
  readonly tenantId: string;
  readonly positionId: string | undefined;
}) => {
  const { data: claim, error, refetch } = useClaim(session, positionId);
  const progress = useQuery(createProgressQuery(session.queueId, session.reviewer));
  const openClaim = useOpenClaim(session);
  useEffect(() => deleteOldDrafts(localStorage, Date.now()), []);
  if (error instanceof ApiError && (error.status === 409 || error.status === 404)) {
    return (
      <Empty title={toVisibleText(error.message.replace(/^\d+: /, ""))}>
        <p>Your draft for this run is saved in this browser.</p>
        <Button onClick={() => void openClaim(null)}>Next run</Button>
      </Empty>
    );
  }
  if (claim === undefined) {
    return error === null ? (
      <Loading resourceName="the next run" />
    ) : (
      <Failure resourceName="the next run" error={error} onRetry={refetch} />
    );
  }
  if (claim === null || positionId === undefined) {
    if (claim === null && progress.data !== undefined) {
      return <NoRunToReview progress={progress.data} />;
    }
    return progress.error === null || claim !== null ? (
      <Loading resourceName="the next run" />
    ) : (
      <Failure
        resourceName="the queue's progress"
        error={progress.error}
        onRetry={progress.refetch}
      />
    );
  }
  return (
    <Review
      key={claim.id}
      queue={queue}
      session={session}
      claim={claim}
      tenantId={tenantId}
      error={error}
    />
  );
};

const NoRunToReview = ({ progress }: { readonly progress: QueueProgress }) => {
  const { total, completed, claimedByOthersCount } = progress;
  if (total === 0) {
    return (
      <Empty title="No runs in this queue yet">
        <p>
          Add runs in the Runs view or from a project’s run list. They appear here automatically.
        </p>
      </Empty>
    );
  }
  if (completed === total) {
    return (
      <Empty title="All runs are reviewed">
        <p>New runs appear here automatically.</p>
      </Empty>
    );
  }
  return (
    <Empty title="No runs to review">
      <p>
        {pluralize(total - completed, "run")} still to be reviewed by others
        {claimedByOthersCount > 0
          ? `, ${claimedByOthersCount.toLocaleString("en")} in review now`
          : ""}
        . Runs that become available appear here automatically.
      </p>
    </Empty>
  );
};
