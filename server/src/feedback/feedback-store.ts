import type { RequestScoped } from "../http/request-scope.ts";
import type { FeedbackReads, FeedbackWrites } from "./feedback.ts";
import type { FeedbackTrendReads } from "./feedback-trend.ts";

/** The part of the store that the handlers of feedback use. */
export interface FeedbackStore extends RequestScoped<FeedbackStore> {
  readonly read: {
    readonly feedback: FeedbackReads;
    readonly feedbackTrend: FeedbackTrendReads;
  };
  readonly write: {
    readonly feedback: FeedbackWrites;
  };
}
