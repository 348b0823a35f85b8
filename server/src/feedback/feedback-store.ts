import type { FeedbackReads, FeedbackWrites } from "./feedback.ts";
import type { FeedbackTrendReads } from "./trend-query.ts";
import type { Promised } from "../storage/promised.ts";

/** The part of the store that the handlers of feedback use. */
export interface FeedbackStore {
  readonly read: Promised<{
    readonly feedback: FeedbackReads;
    readonly feedbackTrend: FeedbackTrendReads;
  }>;
  readonly write: Promised<{
    readonly feedback: FeedbackWrites;
  }>;
}
