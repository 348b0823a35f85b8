import { Button } from "@mantine/core";
import { Code } from "../../../components/code/code.tsx";
import { correctedOutputs } from "./review-draft.ts";
import type { DraftState } from "./use-draft.ts";
import type { ReviewActions } from "./use-review.ts";

/** The outputs as they should have been; they go into the feedback, and into the dataset. */
export const Correction = ({
  draftState: { draft, change },
  hasDataset,
  actions,
}: {
  readonly draftState: DraftState;
  readonly hasDataset: boolean;
  readonly actions: ReviewActions;
}) => {
  const { correction, exampleId } = draft;
  return (
    <section className="review-correction" aria-label="Correction">
      {correction !== undefined && (
        <>
          <Code
            label="Corrected outputs"
            language="json"
            value={correction}
            maxHeight={260}
            onChange={(text) => change({ ...draft, correction: text })}
          />
          {correctedOutputs(correction) === undefined && (
            <p className="review-about">No JSON object: kept as a text.</p>
          )}
        </>
      )}
      <div className="review-buttons">
        <Button
          size="compact-sm"
          variant="default"
          onClick={() => {
            if (correction === undefined) {
              actions.correct();
            } else {
              const { correction: _before, ...rest } = draft;
              change(rest);
            }
          }}
        >
          {correction === undefined ? (
            <>
              Correct the outputs <kbd>e</kbd>
            </>
          ) : (
            // No key: what was written would be gone with one press.
            "Leave the outputs as they are"
          )}
        </Button>
        {hasDataset && (
          <Button
            size="compact-sm"
            variant="default"
            disabled={actions.isBusy || exampleId !== undefined}
            onClick={actions.addToDataset}
          >
            {exampleId === undefined ? "Add to dataset" : "In the dataset"} <kbd>a</kbd>
          </Button>
        )}
      </div>
    </section>
  );
};
