import { Button } from "@mantine/core";
import { Code } from "../../../components/code/code.tsx";
import { parseCorrectedOutputs } from "./review-draft.ts";
import type { DraftState } from "./use-draft.ts";
import type { ReviewActions } from "./use-review.ts";

/** An editor for corrected outputs. They are saved as feedback, and used if the run is added to the dataset. */
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
            focusRequests={actions.correctionStarts}
            onChange={(text) => change({ ...draft, correction: text })}
          />
          {parseCorrectedOutputs(correction) === undefined && (
            <p className="review-about">This is not a JSON object, so it is saved as text.</p>
          )}
        </>
      )}
      <div className="review-buttons">
        <Button
          size="compact-sm"
          variant="default"
          onClick={() => {
            if (correction === undefined) {
              actions.startCorrection();
            } else {
              const { correction: _discarded, ...others } = draft;
              change(others);
            }
          }}
        >
          {correction === undefined ? (
            <>
              Add correction <kbd>e</kbd>
            </>
          ) : (
            // This action has no keyboard shortcut, because one accidental key press would lose the correction.
            "Discard correction"
          )}
        </Button>
        {hasDataset && (
          <Button
            size="compact-sm"
            variant="default"
            disabled={actions.isBusy || exampleId !== undefined}
            onClick={actions.addToDataset}
          >
            {exampleId === undefined ? "Add to dataset" : "In dataset"} <kbd>a</kbd>
          </Button>
        )}
      </div>
    </section>
  );
};
