import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { createTraceRunQuery } from "../../trace/queries.ts";
import { createProgressQuery } from "../queries.ts";
import type { ReviewSession } from "../queries.ts";
import type { Claim, Queue } from "../queue.ts";
import { toDigitAnswer } from "../rubric.ts";
import { setAnswer } from "./review-draft.ts";
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

/** The review of one run: the run on the left, the questions on the right. */
export const Review = ({ queue, session, claim, tenantId, error }: ReviewProps) => {
  const { data: run } = useQuery(createTraceRunQuery(claim.runId));
  const { data: progress } = useQuery(createProgressQuery(session.queueId, session.reviewer));
  const draftState = useDraft(session, claim);
  const actions = useReview({ queue, session, claim, draftState, run });
  const [selectedIndex, setSelectedIndex] = useState(0);
  const note = useRef<HTMLTextAreaElement>(null);
  const container = useRef<HTMLDivElement>(null);
  const changeAnswer = (action: ReviewAction & { readonly kind: "digit" | "clear" }): void => {
    const question = queue.questions[selectedIndex];
    const answer =
      question && action.kind === "digit" ? toDigitAnswer(question, action.digit) : undefined;
    if (question === undefined || (action.kind === "digit" && answer === undefined)) {
      return;
    }
    draftState.change(setAnswer(draftState.draft, question.key, answer));
    if (action.kind === "digit") {
      setSelectedIndex(Math.min(selectedIndex + 1, queue.questions.length - 1));
    }
  };
  useReviewKeys((action) => {
    // Ignore keys while the editor of the correction is loading, because the user presses them to type the correction.
    if (
      actions.correctionStarts > 0 &&
      container.current?.querySelector(".review-correction .code-wait")
    ) {
      return;
    }
    switch (action.kind) {
      case "digit":
      case "clear":
        changeAnswer(action);
        break;
      case "question":
        setSelectedIndex(
          Math.max(0, Math.min(queue.questions.length - 1, selectedIndex + action.step)),
        );
        break;
      case "note":
        note.current?.focus();
        break;
      case "correct":
        actions.startCorrection();
        break;
      case "dataset":
        actions.addToDataset();
        break;
      case "trace":
        container.current?.querySelector<HTMLAnchorElement>(".review-trace")?.click();
        break;
      case "undo":
        actions.reopen(progress?.lastReviewedId);
        break;
      case "done":
        actions.finish();
        break;
      case "skip":
        actions.skip();
        break;
      case "next":
      case "after":
      case "before":
        actions.goTo(action.kind);
        break;
    }
  });
  const isDone = claim.reviews.some(
    ({ reviewer, doneMs }) => reviewer === session.reviewer && doneMs !== undefined,
  );
  return (
    <div className="review" ref={container}>
      <section className="review-run" aria-label="Run">
        <ReviewRun claim={claim} tenantId={tenantId} />
      </section>
      <section className="review-panel" aria-label="Review">
        {error !== null && (
          <p className="bad" role="alert">
            Could not renew your claim on this run: {error.message}. Your draft is saved in this
            browser.
          </p>
        )}
        {isDone ? (
          <div className="review-finished">
            <p>You have reviewed this run.</p>
            <Button variant="default" onClick={() => actions.reopen(claim.id)}>
              Reopen review
            </Button>
            <Button onClick={() => actions.goTo("next")}>Next run</Button>
          </div>
        ) : (
          <ReviewPanel
            queue={queue}
            draftState={draftState}
            actions={actions}
            selectedIndex={selectedIndex}
            onSelect={setSelectedIndex}
            noteRef={note}
            lastReviewedPositionId={progress?.lastReviewedId}
          />
        )}
      </section>
    </div>
  );
};
