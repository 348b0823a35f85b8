import type { RequestScoped } from "../http/request-scope.ts";
import type { FeedbackReads } from "../feedback/feedback.ts";
import type { RunReads } from "../runs/run-query.ts";
import type { AnnotationQueueReads, AnnotationQueueWrites } from "./annotation-queue.ts";
import type { QueueReviewReads, QueueReviewWrites } from "./queue-review.ts";
import type { Promised } from "../storage/promised.ts";

/** The part of the store that the handlers of annotation queues use. */
export interface QueueStore extends RequestScoped<QueueStore> {
  readonly read: Promised<{
    readonly feedback: FeedbackReads;
    readonly runs: RunReads;
  }> & {
    readonly annotationQueues: AnnotationQueueReads;
    readonly queueReviews: QueueReviewReads;
  };
  readonly write: {
    readonly annotationQueues: AnnotationQueueWrites;
    readonly queueReviews: QueueReviewWrites;
  };
}
