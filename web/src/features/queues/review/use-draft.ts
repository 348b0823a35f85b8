import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ReviewSession } from "../queries.ts";
import type { Claim } from "../queue.ts";
import { createSubmittedReviewQuery } from "./queries.ts";
import { emptyDraft, deleteDraft, isEmptyDraft, saveDraft, readDraft } from "./review-draft.ts";
import type { ReviewDraft } from "./review-draft.ts";

/** A reviewer's draft for a run, and how to change it. */
export interface DraftState {
  readonly draft: ReviewDraft;
  /** Whether this browser has stored the draft; if `false`, a reload would lose it. */
  readonly isStored: boolean;
  /** `false` while the reviewer's earlier feedback is loading, from which the draft is restored. */
  readonly isReady: boolean;
  readonly change: (draft: ReviewDraft) => void;
  /** Deletes the draft from this browser. */
  readonly deleteStoredDraft: () => void;
}

/** Manages the draft for a run. Each change is stored in this browser, so that a reload of the page restores the draft. */
export function useDraft(session: ReviewSession, claim: Claim): DraftState {
  const key = { ...session, positionId: claim.id };
  const [localDraft, setLocalDraft] = useState(() => readDraft(localStorage, key));
  const [isStored, setIsStored] = useState(true);
  const submittedReview = useQuery(createSubmittedReviewQuery(claim.runId, session));
  return {
    draft: localDraft ?? submittedReview.data ?? emptyDraft,
    isStored,
    isReady: localDraft !== undefined || !submittedReview.isPending,
    change: (draft) => {
      setLocalDraft(draft);
      if (isEmptyDraft(draft) && draft.sent.length === 0) {
        deleteDraft(localStorage, key);
        setIsStored(true);
      } else {
        setIsStored(saveDraft(localStorage, key, { draft, nowMs: Date.now() }));
      }
    },
    deleteStoredDraft: () => deleteDraft(localStorage, key),
  };
}
