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
  /**
   * Whether the draft can be changed. A draft begins with the reviewer's earlier feedback, so {@link change} has no
   * effect until this feedback is loaded. A draft without it would delete the feedback, or create it a second time.
   */
  readonly isReady: boolean;
  /** Why the earlier feedback could not be loaded; `null` if it was loaded, or is still loading. */
  readonly loadError: Error | null;
  /** Loads the earlier feedback again. */
  readonly reload: () => void;
  readonly change: (draft: ReviewDraft) => void;
  readonly deleteStoredDraft: () => void;
}

/**
 * Manages the draft for a run. Each change is stored in this browser, so that a reload of the page restores the draft.
 */
export function useDraft(session: ReviewSession, claim: Claim): DraftState {
  const key = { ...session, positionId: claim.id };
  const [storedDraft] = useState(() => readDraft(localStorage, key));
  const [localDraft, setLocalDraft] = useState(storedDraft);
  const [isStored, setIsStored] = useState(true);
  const submitted = useQuery(createSubmittedReviewQuery(claim.runId, session));
  // A stored draft already contains the earlier feedback, because a draft can be begun only after that feedback has
  // been loaded.
  const isReady = storedDraft !== undefined || submitted.isSuccess;
  return {
    draft: localDraft ?? submitted.data ?? emptyDraft,
    isStored,
    isReady,
    loadError: isReady ? null : submitted.error,
    reload: () => void submitted.refetch(),
    change: (draft) => {
      if (!isReady) {
        return;
      }
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
