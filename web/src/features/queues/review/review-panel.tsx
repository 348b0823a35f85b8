import { Button, Textarea } from "@mantine/core";
import type { RefObject } from "react";
import { FormError } from "../../../components/dialog/form.tsx";
import { Failure, Loading } from "../../../components/page/states.tsx";
import { Markdown } from "../../../components/markdown/markdown.tsx";
import type { Queue } from "../queue.ts";
import { Correction } from "./correction.tsx";
import { setAnswer } from "./review-draft.ts";
import { reviewKeys } from "./review-keys.ts";
import { ScoreInput } from "./score-input.tsx";
import type { DraftState } from "./use-draft.ts";
import type { ReviewActions } from "./use-review.ts";

/** The questions, note, correction and buttons with which a reviewer reviews a run. */
export const ReviewPanel = ({
  queue,
  draftState,
  actions,
  selectedIndex,
  onSelect,
  noteRef,
  lastReviewedPositionId,
}: {
  readonly queue: Queue;
  readonly draftState: DraftState;
  readonly actions: ReviewActions;
  /** Index of the question that number keys answer. */
  readonly selectedIndex: number;
  readonly onSelect: (index: number) => void;
  readonly noteRef: RefObject<HTMLTextAreaElement | null>;
  readonly lastReviewedPositionId: string | undefined;
}) => {
  const { draft, change, isStored, isReady, loadError, reload } = draftState;
  return (
    <>
      {queue.instructions !== "" && (
        <section className="review-instructions" aria-label="Instructions">
          <Markdown text={queue.instructions} />
        </section>
      )}
      {loadError !== null && (
        <Failure resourceName="your earlier feedback" error={loadError} onRetry={reload} />
      )}
      {!isReady && loadError === null && <Loading resourceName="your earlier feedback" />}
      {isReady && (
        <>
          {queue.questions.map((question, index) => (
            <ScoreInput
              key={question.key}
              question={question}
              answer={draft.answers[question.key]}
              isSelected={index === selectedIndex}
              onSelect={() => onSelect(index)}
              onAnswer={(answer) => change(setAnswer(draft, question.key, answer))}
            />
          ))}
          <Textarea
            ref={noteRef}
            label="Note"
            rows={2}
            value={draft.note}
            onChange={({ currentTarget }) => change({ ...draft, note: currentTarget.value })}
          />
          <Correction
            draftState={draftState}
            hasDataset={queue.defaultDatasetId !== undefined}
            actions={actions}
          />
        </>
      )}
      {!isStored && (
        <p className="bad" role="alert">
          Could not save your draft in this browser. Reloading the page would lose it.
        </p>
      )}
      <ReviewButtons
        actions={actions}
        isReady={isReady}
        lastReviewedPositionId={lastReviewedPositionId}
      />
      <details className="review-keys">
        <summary>Keyboard shortcuts</summary>
        <dl>
          {reviewKeys.map(({ keys, label }) => (
            <div key={label}>
              <dt>
                {keys.map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dt>
              <dd>{label}</dd>
            </div>
          ))}
        </dl>
      </details>
    </>
  );
};

/** The buttons that complete, skip or leave a review. They stay visible while the panel scrolls. */
const ReviewButtons = ({
  actions,
  isReady,
  lastReviewedPositionId,
}: {
  readonly actions: ReviewActions;
  /** Whether the review can be submitted; `false` while feedback that was submitted earlier is loading. */
  readonly isReady: boolean;
  readonly lastReviewedPositionId: string | undefined;
}) => (
  <div className="review-end">
    <FormError error={actions.error} />
    <output className="review-notice">{actions.notice}</output>
    <div className="review-buttons">
      <Button size="sm" loading={actions.isBusy} disabled={!isReady} onClick={actions.finish}>
        Done <kbd>d</kbd>
      </Button>
      <Button size="sm" variant="default" disabled={actions.isBusy} onClick={actions.skip}>
        Skip <kbd>s</kbd>
      </Button>
      <Button
        size="sm"
        variant="default"
        disabled={actions.isBusy}
        onClick={() => actions.goTo("next")}
      >
        Next run <kbd>n</kbd>
      </Button>
      <Button
        size="sm"
        variant="subtle"
        disabled={actions.isBusy || lastReviewedPositionId === undefined}
        onClick={() => actions.reopen(lastReviewedPositionId)}
      >
        Reopen last run <kbd>u</kbd>
      </Button>
    </div>
  </div>
);
