import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { ApiError } from "../../../api/http.ts";
import { Empty, Failure, Loading } from "../../../components/page/states.tsx";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { progressQuery } from "../queries.ts";
import type { ReviewSession } from "../queries.ts";
import type { Queue, QueueProgress } from "../queue.ts";
import { deleteOldDrafts } from "./review-draft.ts";
import { Review } from "./review.tsx";
import { useClaim, useOpen } from "./use-claim.ts";

/** Claims a run and shows it, or the reason why there is no run. */
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
  const progress = useQuery(progressQuery(session.queueId, session.reviewer));
  const open = useOpen(session);
  useEffect(() => deleteOldDrafts(localStorage, Date.now()), []);
  if (error instanceof ApiError && (error.status === 409 || error.status === 404)) {
    return (
      <Empty title={toVisibleText(error.message.replace(/^\d+: /, ""))}>
        <p>What you entered for it is kept in this browser.</p>
        <Button onClick={() => void open(null)}>Next run</Button>
      </Empty>
    );
  }
  if (claim === undefined) {
    return error === null ? (
      <Loading what="the next run" />
    ) : (
      <Failure what="the next run" error={error} onRetry={refetch} />
    );
  }
  if (claim === null || positionId === undefined) {
    if (claim === null && progress.data !== undefined) {
      return <Nothing progress={progress.data} />;
    }
    return progress.error === null || claim !== null ? (
      <Loading what="the next run" />
    ) : (
      <Failure what="the queue's progress" error={progress.error} onRetry={progress.refetch} />
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

const Nothing = ({ progress }: { readonly progress: QueueProgress }) => {
  const { total, completed, claimedByOthers } = progress;
  if (total === 0) {
    return (
      <Empty title="No run in this queue yet.">
        <p>Add some under Runs, or from the list of a project; they show here as they arrive.</p>
      </Empty>
    );
  }
  if (completed === total) {
    return (
      <Empty title="All done.">
        <p>Every run of this queue is reviewed. New ones show here as they arrive.</p>
      </Empty>
    );
  }
  return (
    <Empty title="Nothing waits for you.">
      <p>
        {claimedByOthers > 0
          ? `${claimedByOthers.toLocaleString("en")} with other reviewers now. `
          : ""}
        The {(total - completed).toLocaleString("en")} that are open wait for others; what becomes
        free shows here.
      </p>
    </Empty>
  );
};
