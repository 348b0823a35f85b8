import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { toSource } from "../../../components/payload/json-view.tsx";
import { claimRun, finishRun, releaseRun, reopenRun } from "../queries.ts";
import type { ClaimRequest, ReviewSession } from "../queries.ts";
import type { Claim, Queue } from "../queue.ts";
import { addExample, sendFeedback } from "./queries.ts";
import { parseCorrectedOutputs, findMissingAnswers, toFeedbackWrites } from "./review-draft.ts";
import { useOpenClaim } from "./use-claim.ts";
import type { DraftState } from "./use-draft.ts";

/** The actions of a reviewer on a run. A failed action sets `error` and can be repeated. */
export interface ReviewActions {
  readonly isBusy: boolean;
  readonly error: string | undefined;
  /** The result of the last action, which is shown and announced by screen readers. */
  readonly notice: string | undefined;
  /** Submits the feedback, completes the review, and opens the next run. */
  readonly finish: () => void;
  readonly skip: () => void;
  readonly goTo: (to: "next" | "after" | "before") => void;
  readonly reopen: (positionId: string | undefined) => void;
  readonly addToDataset: () => void;
  /** Starts a correction with a copy of the recorded outputs, or continues one. */
  readonly startCorrection: () => void;
  /** Number of calls of {@link startCorrection} that have succeeded. Each focuses the editor of the correction. */
  readonly correctionStarts: number;
}

interface ReviewContext {
  readonly queue: Queue;
  readonly session: ReviewSession;
  readonly claim: Claim;
  readonly draftState: DraftState;
  readonly run:
    | { readonly id: string; readonly inputs: unknown; readonly outputs: unknown }
    | undefined;
}

const runNotLoadedMessage = "The run has not loaded yet. Try again when it is shown.";

export function useReview({
  queue,
  session,
  claim,
  draftState,
  run,
}: ReviewContext): ReviewActions {
  const client = useQueryClient();
  const openClaim = useOpenClaim(session);
  const [state, setState] = useState<Pick<ReviewActions, "isBusy" | "error" | "notice">>({
    isBusy: false,
    error: undefined,
    notice: undefined,
  });
  const [correctionStarts, setCorrectionStarts] = useState(0);
  const showError = (error: string): void => setState({ isBusy: false, error, notice: undefined });
  const runAction = (action: () => Promise<string | undefined>): void => {
    if (state.isBusy) {
      return;
    }
    setState({ isBusy: true, error: undefined, notice: undefined });
    action()
      .then((notice) => setState({ isBusy: false, error: undefined, notice }))
      .catch((cause: unknown) => showError(cause instanceof Error ? cause.message : String(cause)));
  };
  const refresh = async (): Promise<void> =>
    client.invalidateQueries({ queryKey: ["queues", session.queueId] });
  const moveTo = async (request: ClaimRequest): Promise<boolean> => {
    const newClaim = await claimRun(session, request);
    if (newClaim === null) {
      return false;
    }
    if (newClaim.id !== claim.id) {
      await releaseRun(session, claim.id, { isSkipped: false });
    }
    await openClaim(newClaim);
    return true;
  };
  return {
    ...state,
    correctionStarts,
    finish: () => {
      // Wait for the ids of earlier feedback; without them, that feedback would be created a second time.
      if (!draftState.isReady) {
        return;
      }
      runAction(async () => {
        const missingKeys = findMissingAnswers(queue.questions, draftState.draft);
        if (missingKeys.length > 0) {
          throw new Error(`Answer the required questions: ${missingKeys.join(", ")}.`);
        }
        const writes = toFeedbackWrites(draftState.draft, queue.questions, () =>
          crypto.randomUUID(),
        );
        const feedbackIds = Object.fromEntries(writes.map(({ key, id }) => [key, id]));
        // Store the ids before sending: if the page closes during the requests, repeating them uses the same ids.
        draftState.change({
          ...draftState.draft,
          ids: { ...draftState.draft.ids, ...feedbackIds },
        });
        await sendFeedback(writes, { runId: claim.runId, session });
        await finishRun(session, claim.id);
        draftState.deleteStoredDraft();
        client.removeQueries({ queryKey: ["run", claim.runId, "review"] });
        await Promise.all([refresh(), openClaim(await claimRun(session, {}))]);
        return undefined;
      });
    },
    skip: () =>
      runAction(async () => {
        await releaseRun(session, claim.id, { isSkipped: true });
        await openClaim(await claimRun(session, {}));
        return undefined;
      }),
    goTo: (to) =>
      runAction(async () => {
        const requestsByDirection = { after: { after: claim.id }, before: { before: claim.id } };
        // After the last waiting run, continue with the first.
        const isFound =
          to === "next"
            ? (await moveTo(requestsByDirection.after)) || (await moveTo({}))
            : await moveTo(requestsByDirection[to]);
        return isFound ? undefined : "No other run is waiting in this direction.";
      }),
    reopen: (positionId) =>
      runAction(async () => {
        if (positionId === undefined) {
          return "You have not reviewed a run of this queue yet.";
        }
        const reopened = await reopenRun(session, positionId);
        if (positionId !== claim.id) {
          await releaseRun(session, claim.id, { isSkipped: false });
        }
        await Promise.all([refresh(), openClaim(reopened)]);
        return undefined;
      }),
    addToDataset: () =>
      runAction(async () => {
        const { defaultDatasetId: datasetId } = queue;
        if (datasetId === undefined) {
          throw new Error("This queue has no dataset. Edit the queue to choose one.");
        }
        if (run === undefined) {
          throw new Error(runNotLoadedMessage);
        }
        const { correction, exampleId: id = crypto.randomUUID() } = draftState.draft;
        const outputs =
          correction === undefined
            ? await toWholeValue(run.outputs)
            : parseCorrectedOutputs(correction);
        if (correction !== undefined && outputs === undefined) {
          throw new Error(
            "The corrected outputs must be a JSON object to add them to the dataset.",
          );
        }
        const inputs = await toWholeValue(run.inputs);
        await addExample({ id, datasetId, runId: run.id, inputs, outputs });
        draftState.change({ ...draftState.draft, exampleId: id });
        return "Added to the dataset.";
      }),
    startCorrection: () =>
      runAction(async () => {
        if (run === undefined) {
          throw new Error(runNotLoadedMessage);
        }
        if (draftState.draft.correction === undefined) {
          draftState.change({ ...draftState.draft, correction: await toWholeText(run.outputs) });
        }
        setCorrectionStarts((count) => count + 1);
        return undefined;
      }),
  };
}

/**
 * Returns the complete JSON text of a payload; `{}` if no payload was recorded. A large payload is in the memory of a
 * worker thread, which returns its text.
 */
const toWholeText = async (value: unknown): Promise<string> =>
  value === undefined ? "{}" : toSource(value).readJson();

/** Returns the complete value of a payload of any size; `undefined` if no payload was recorded. */
async function toWholeValue(value: unknown): Promise<unknown> {
  const wholeValue: unknown =
    value === undefined ? undefined : JSON.parse(await toWholeText(value));
  return wholeValue;
}
