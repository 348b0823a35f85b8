import type { FeedbackReads, FeedbackWrites } from "./feedback.ts";
import type { FeedbackTrendReads } from "./feedback-trend.ts";

/** The part of the store that the handlers of feedback use. */
export interface FeedbackStore {
  readonly read: {
    readonly feedback: FeedbackReads;
    readonly feedbackTrend: FeedbackTrendReads;
  };
  readonly write: {
    readonly feedback: FeedbackWrites;
  };
}
