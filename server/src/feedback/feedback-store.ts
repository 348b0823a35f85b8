import type { FeedbackReads, FeedbackWrites } from "./feedback.ts";
import type { FeedbackTrendReads } from "./trend-query.ts";
import type { Promised } from "../storage/promised.ts";

/** What the handlers of feedback need of the store. */
export interface FeedbackStore {
  readonly read: Promised<{
    readonly feedback: FeedbackReads;
    readonly feedbackTrend: FeedbackTrendReads;
  }>;
  readonly write: Promised<{
    readonly feedback: FeedbackWrites;
  }>;
}
