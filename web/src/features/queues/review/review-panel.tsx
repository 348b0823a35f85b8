import { Button, Textarea } from "@mantine/core";
import type { RefObject } from "react";
import { FormError } from "../../../components/dialog/form.tsx";
import { Markdown } from "../../../components/text/markdown.tsx";
import type { Queue } from "../queue.ts";
import { Correction } from "./correction.tsx";
import { answerIn } from "./review-draft.ts";
import { reviewKeys } from "./review-keys.ts";
import { ScoreInput } from "./score-input.tsx";
import type { DraftState } from "./use-draft.ts";
import type { ReviewActions } from "./use-review.ts";

/** What is asked of a run, and what is done with it. */
export const ReviewPanel = ({
  queue,
  draftState,
  actions,
  marked,
  onMark,
  note,
  lastDone,
}: {
  readonly queue: Queue;
  readonly draftState: DraftState;
  readonly actions: ReviewActions;
  /** Place of the question that number keys answer. */
  readonly marked: number;
  readonly onMark: (index: number) => void;
  readonly note: RefObject<HTMLTextAreaElement | null>;
  readonly lastDone: string | undefined;
}) => {
  const { draft, change, isKept } = draftState;
  return (
    <>
      {queue.instructions !== "" && (
        <section className="review-instructions" aria-label="Instructions">
          <Markdown text={queue.instructions} />
        </section>
      )}
      {queue.inputs.map((input, index) => (
        <ScoreInput
          key={input.key}
          input={input}
          answer={draft.answers[input.key]}
          isMarked={index === marked}
          onMark={() => onMark(index)}
          onAnswer={(answer) => change(answerIn(draft, input.key, answer))}
        />
      ))}
      <Textarea
        ref={note}
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
      {!isKept && (
        <p className="bad" role="alert">
          This browser has no room to keep what you enter: a reload would lose it.
        </p>
      )}
      <ReviewButtons actions={actions} lastDone={lastDone} />
      <details className="review-keys">
        <summary>Keys</summary>
        <dl>
          {reviewKeys.map(({ keys, about }) => (
            <div key={about}>
              <dt>
                {keys.map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dt>
              <dd>{about}</dd>
            </div>
          ))}
        </dl>
      </details>
    </>
  );
};

/** Always in view: what ends a review. */
const ReviewButtons = ({
  actions,
  lastDone,
}: {
  readonly actions: ReviewActions;
  readonly lastDone: string | undefined;
}) => (
  <div className="review-end">
    <FormError error={actions.error} />
    <output className="review-notice">{actions.notice}</output>
    <div className="review-buttons">
      <Button size="sm" loading={actions.isBusy} onClick={actions.done}>
        Done <kbd>d</kbd>
      </Button>
      <Button size="sm" variant="default" disabled={actions.isBusy} onClick={actions.skip}>
        Skip <kbd>s</kbd>
      </Button>
      <Button
        size="sm"
        variant="default"
        disabled={actions.isBusy}
        onClick={() => actions.walk("next")}
      >
        Next <kbd>n</kbd>
      </Button>
      <Button
        size="sm"
        variant="subtle"
        disabled={actions.isBusy || lastDone === undefined}
        onClick={() => actions.reopen(lastDone)}
      >
        Undo <kbd>u</kbd>
      </Button>
    </div>
  </div>
);
