import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { traceRunQuery } from "../../trace/queries.ts";
import { progressQuery } from "../queries.ts";
import type { ReviewSession } from "../queries.ts";
import type { Claim, Queue } from "../queue.ts";
import { answerOfDigit } from "../rubric.ts";
import { answerIn } from "./review-draft.ts";
import type { ReviewAction } from "./review-keys.ts";
import { ReviewPanel } from "./review-panel.tsx";
import { ReviewRun } from "./review-run.tsx";
import { useDraft } from "./use-draft.ts";
import { useReviewKeys } from "./use-review-keys.ts";
import { useReview } from "./use-review.ts";

interface ReviewProps {
  readonly queue: Queue;
  readonly session: ReviewSession;
  readonly claim: Claim;
  readonly tenantId: string;
  /** Why the claim could not be renewed. */
  readonly error: Error | null;
}

/** One run under review: it on the left, what is asked of it on the right. */
export const Review = ({ queue, session, claim, tenantId, error }: ReviewProps) => {
  const { data: run } = useQuery(traceRunQuery(claim.runId));
  const { data: progress } = useQuery(progressQuery(session.queueId, session.reviewer));
  const draftState = useDraft(session, claim);
  const actions = useReview({ queue, session, claim, draftState, run });
  const [marked, setMarked] = useState(0);
  const note = useRef<HTMLTextAreaElement>(null);
  const page = useRef<HTMLDivElement>(null);
  const answer = (action: ReviewAction & { readonly kind: "digit" | "clear" }): void => {
    const input = queue.inputs[marked];
    const given = input && action.kind === "digit" ? answerOfDigit(input, action.digit) : undefined;
    if (input === undefined || (action.kind === "digit" && given === undefined)) {
      return;
    }
    draftState.change(answerIn(draftState.draft, input.key, given));
    if (action.kind === "digit") {
      setMarked(Math.min(marked + 1, queue.inputs.length - 1));
    }
  };
  useReviewKeys((action) => {
    switch (action.kind) {
      case "digit":
      case "clear":
        answer(action);
        break;
      case "question":
        setMarked(Math.max(0, Math.min(queue.inputs.length - 1, marked + action.step)));
        break;
      case "note":
        note.current?.focus();
        break;
      case "correct":
        actions.correct();
        break;
      case "dataset":
        actions.addToDataset();
        break;
      case "trace":
        page.current?.querySelector<HTMLAnchorElement>(".review-trace")?.click();
        break;
      case "undo":
        actions.reopen(progress?.lastDone);
        break;
      case "done":
      case "skip":
        actions[action.kind]();
        break;
      case "next":
      case "after":
      case "before":
        actions.walk(action.kind);
        break;
    }
  });
  const isDone = claim.reviews.some(
    ({ reviewer, doneMs }) => reviewer === session.reviewer && doneMs !== undefined,
  );
  return (
    <div className="review" ref={page}>
      <section className="review-run" aria-label="Run">
        <ReviewRun claim={claim} tenantId={tenantId} />
      </section>
      <section className="review-panel" aria-label="Review">
        {error !== null && (
          <p className="bad" role="alert">
            The claim could not be renewed: {error.message}. What you enter is kept here.
          </p>
        )}
        {isDone ? (
          <div className="review-finished">
            <p>You are done with this run.</p>
            <Button variant="default" onClick={() => actions.reopen(claim.id)}>
              Reopen
            </Button>
            <Button onClick={() => actions.walk("next")}>Next run</Button>
          </div>
        ) : (
          <ReviewPanel
            queue={queue}
            draftState={draftState}
            actions={actions}
            marked={marked}
            onMark={setMarked}
            note={note}
            lastDone={progress?.lastDone}
          />
        )}
      </section>
    </div>
  );
};
