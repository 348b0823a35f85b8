import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { toSource } from "../../../components/payload/json-view.tsx";
import { claimRun, finishRun, releaseRun, reopenRun } from "../queries.ts";
import type { ClaimRequest, ReviewSession } from "../queries.ts";
import type { Claim, Queue } from "../queue.ts";
import { addExample, sendFeedback } from "./queries.ts";
import { correctedOutputs, missingAnswers, toFeedbackWrites } from "./review-draft.ts";
import { useOpen } from "./use-claim.ts";
import type { DraftState } from "./use-draft.ts";

/** The actions of a reviewer on a run. Each reports its failure and can be repeated. */
export interface ReviewActions {
  readonly isBusy: boolean;
  readonly error: string | undefined;
  /** What was done, for screen readers. */
  readonly notice: string | undefined;
  readonly done: () => void;
  readonly skip: () => void;
  readonly walk: (to: "next" | "after" | "before") => void;
  readonly reopen: (positionId: string | undefined) => void;
  readonly addToDataset: () => void;
  /** Begins a correction with the outputs as they are. */
  readonly correct: () => void;
}

interface Review {
  readonly queue: Queue;
  readonly session: ReviewSession;
  readonly claim: Claim;
  readonly draftState: DraftState;
  readonly run:
    | { readonly id: string; readonly inputs: unknown; readonly outputs: unknown }
    | undefined;
}

const notYet = "The run has not come yet: try again once it shows.";

export function useReview({ queue, session, claim, draftState, run }: Review): ReviewActions {
  const client = useQueryClient();
  const open = useOpen(session);
  const [state, setState] = useState<Pick<ReviewActions, "isBusy" | "error" | "notice">>({
    isBusy: false,
    error: undefined,
    notice: undefined,
  });
  const fail = (error: string): void => setState({ isBusy: false, error, notice: undefined });
  const attempt = (action: () => Promise<string | undefined>): void => {
    if (state.isBusy) {
      return;
    }
    setState({ isBusy: true, error: undefined, notice: undefined });
    action()
      .then((notice) => setState({ isBusy: false, error: undefined, notice }))
      .catch((cause: unknown) => fail(cause instanceof Error ? cause.message : String(cause)));
  };
  const refresh = async (): Promise<void> =>
    client.invalidateQueries({ queryKey: ["queues", session.queueId] });
  const leaveFor = async (request: ClaimRequest): Promise<boolean> => {
    const next = await claimRun(session, request);
    if (next === null) {
      return false;
    }
    if (next.id !== claim.id) {
      await releaseRun(session, claim.id, { isSkipped: false });
    }
    await open(next);
    return true;
  };
  return {
    ...state,
    done: () =>
      attempt(async () => {
        const missing = missingAnswers(queue.inputs, draftState.draft);
        if (missing.length > 0) {
          throw new Error(`To be answered: ${missing.join(", ")}.`);
        }
        const writes = toFeedbackWrites(draftState.draft, queue.inputs, () => crypto.randomUUID());
        const ids = Object.fromEntries(writes.map(({ key, id }) => [key, id]));
        // Before it is sent: should the page end here, what is sent again has the same ids.
        draftState.change({ ...draftState.draft, ids: { ...draftState.draft.ids, ...ids } });
        await sendFeedback(writes, { runId: claim.runId, session });
        await finishRun(session, claim.id);
        draftState.forget();
        client.removeQueries({ queryKey: ["run", claim.runId, "review"] });
        await Promise.all([refresh(), open(await claimRun(session, {}))]);
        return undefined;
      }),
    skip: () =>
      attempt(async () => {
        await releaseRun(session, claim.id, { isSkipped: true });
        await open(await claimRun(session, {}));
        return undefined;
      }),
    walk: (to) =>
      attempt(async () => {
        const request = { after: { after: claim.id }, before: { before: claim.id } };
        // Behind the last that waits comes the first.
        const isFound =
          to === "next"
            ? (await leaveFor(request.after)) || (await leaveFor({}))
            : await leaveFor(request[to]);
        return isFound ? undefined : "No other run waits there.";
      }),
    reopen: (positionId) =>
      attempt(async () => {
        if (positionId === undefined) {
          return "You are done with none yet.";
        }
        const again = await reopenRun(session, positionId);
        if (positionId !== claim.id) {
          await releaseRun(session, claim.id, { isSkipped: false });
        }
        await Promise.all([refresh(), open(again)]);
        return undefined;
      }),
    addToDataset: () =>
      attempt(async () => {
        const { defaultDatasetId: datasetId } = queue;
        if (datasetId === undefined) {
          throw new Error("The queue has no dataset: its form names one.");
        }
        if (run === undefined) {
          throw new Error(notYet);
        }
        const { correction, exampleId: id = crypto.randomUUID() } = draftState.draft;
        const outputs =
          correction === undefined ? await toWholeValue(run.outputs) : correctedOutputs(correction);
        if (correction !== undefined && outputs === undefined) {
          throw new Error("The corrected outputs are no JSON object: an example needs one.");
        }
        const inputs = await toWholeValue(run.inputs);
        await addExample({ id, datasetId, runId: run.id, inputs, outputs });
        draftState.change({ ...draftState.draft, exampleId: id });
        return "Added to the dataset.";
      }),
    correct: () =>
      attempt(async () => {
        if (run === undefined) {
          throw new Error(notYet);
        }
        if (draftState.draft.correction === undefined) {
          draftState.change({ ...draftState.draft, correction: await toWholeText(run.outputs) });
        }
        return undefined;
      }),
  };
}

/** A value as JSON text, also where a worker holds it; an empty object where nothing was recorded. */
const toWholeText = async (value: unknown): Promise<string> =>
  value === undefined ? "{}" : toSource(value).json();

/** The value itself, however large; `undefined` where nothing was recorded. */
async function toWholeValue(value: unknown): Promise<unknown> {
  const whole: unknown = value === undefined ? undefined : JSON.parse(await toWholeText(value));
  return whole;
}
