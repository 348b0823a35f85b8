import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ReviewSession } from "../queries.ts";
import type { Claim } from "../queue.ts";
import { submittedReviewQuery } from "./queries.ts";
import { emptyDraft, deleteDraft, isEmptyDraft, saveDraft, readDraft } from "./review-draft.ts";
import type { ReviewDraft } from "./review-draft.ts";

/** A draft in this browser, under way to the server. */
export interface DraftState {
  readonly draft: ReviewDraft;
  /** Whether this browser keeps it; `false`: a reload would lose it. */
  readonly isKept: boolean;
  /** Whether it is known what the server has of it. */
  readonly isReady: boolean;
  readonly change: (draft: ReviewDraft) => void;
  readonly forget: () => void;
}

/** What the reviewer enters for a run: kept at each change, taken up again after a reload. */
export function useDraft(session: ReviewSession, claim: Claim): DraftState {
  const key = { ...session, positionId: claim.id };
  const [own, setOwn] = useState(() => readDraft(localStorage, key));
  const [isKept, setIsKept] = useState(true);
  const given = useQuery(submittedReviewQuery(claim.runId, session));
  return {
    draft: own ?? given.data ?? emptyDraft,
    isKept,
    isReady: own !== undefined || !given.isPending,
    change: (draft) => {
      setOwn(draft);
      if (isEmptyDraft(draft) && draft.sent.length === 0) {
        deleteDraft(localStorage, key);
        setIsKept(true);
      } else {
        setIsKept(saveDraft(localStorage, key, { draft, nowMs: Date.now() }));
      }
    },
    forget: () => deleteDraft(localStorage, key),
  };
}
