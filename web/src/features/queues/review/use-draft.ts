import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Desk } from "../queries.ts";
import { givenReviewQuery } from "./queries.ts";
import {
  emptyDraft,
  forgetDraft,
  isEmptyDraft,
  keepDraft,
  readDraft,
} from "./review-draft.ts";
import type { ReviewDraft } from "./review-draft.ts";
import type { Claim } from "../queue.ts";

/** A draft in this browser, under way to the server. */
export interface HeldDraft {
  readonly draft: ReviewDraft;
  /** Whether this browser keeps it; `false`: a reload would lose it. */
  readonly isKept: boolean;
  /** Whether it is known what the server has of it. */
  readonly isReady: boolean;
  readonly change: (draft: ReviewDraft) => void;
  readonly forget: () => void;
}

/** What the reviewer enters for a run: kept at each change, taken up again after a reload. */
export function useDraft(desk: Desk, claim: Claim): HeldDraft {
  const key = { ...desk, placeId: claim.id };
  const [own, setOwn] = useState(() => readDraft(localStorage, key));
  const [isKept, setIsKept] = useState(true);
  const given = useQuery(givenReviewQuery(claim.runId, desk));
  return {
    draft: own ?? given.data ?? emptyDraft,
    isKept,
    isReady: own !== undefined || !given.isPending,
    change: (draft) => {
      setOwn(draft);
      if (isEmptyDraft(draft) && draft.sent.length === 0) {
        forgetDraft(localStorage, key);
        setIsKept(true);
      } else {
        setIsKept(keepDraft(localStorage, key, { draft, nowMs: Date.now() }));
      }
    },
    forget: () => forgetDraft(localStorage, key),
  };
}
