import type { FastifyInstance } from "fastify";
import { uiEndpoints } from "millrace/model";
import {
  claimBody,
  claimQueueRun,
  finishQueueRun,
  listReviewedQueues,
  listReviewedRuns,
  readQueueProgress,
  releaseQueueRun,
  reopenQueueRun,
  reviewBody,
} from "./queue-review-handlers.ts";
import type { ClaimBody, ReviewBody } from "./queue-review-handlers.ts";
import { route } from "../http/route.ts";
import type { QueueStore } from "./queue-store.ts";
import { queueQueryDocs } from "./annotation-queue-routes.ts";

const apiTag = "annotation queues";
const reviewerDescription = "Name of the reviewer.";

/** Adds the routes with which the UI lists, claims and finishes the runs of annotation queues. */
export function addUiAnnotationQueueRoutes(app: FastifyInstance, store: QueueStore): void {
  app.route({
    ...route(uiEndpoints.listReviewedQueues, {
      tag: apiTag,
      summary: "Lists annotation queues with their review progress.",
      query: { ...queueQueryDocs, reviewer: reviewerDescription },
    }),
    handler: (request) => listReviewedQueues(store.forRequest(request), request),
  });
  app.route({
    ...route(uiEndpoints.readQueueProgress, {
      tag: apiTag,
      summary: "Reads the progress of a queue and its reviewers.",
      query: { reviewer: reviewerDescription },
    }),
    handler: (request) => readQueueProgress(store.forRequest(request), request),
  });
  app.route({
    ...route(uiEndpoints.listReviewedRuns, {
      tag: apiTag,
      summary: "Lists the runs of a queue with their reviews, without payloads.",
      query: {
        status: "As in GET /annotation-queues/{id}/runs.",
        limit: "Maximum number of items, 1 to 100.",
        offset: "Number of items to skip.",
      },
    }),
    handler: (request) => listReviewedRuns(store.forRequest(request), request),
  });
  app.route<{ Body: ClaimBody }>({
    ...route(uiEndpoints.claimQueueRun, {
      tag: apiTag,
      summary:
        "Claims the next run that waits for the reviewer, or a given one. Repeating the request renews the claim. 409 if other reviewers have claimed or finished the run.",
      body: claimBody,
    }),
    handler: (request) => claimQueueRun(store.forRequest(request), request),
  });
  app.route<{ Body: ReviewBody }>({
    ...route(uiEndpoints.releaseQueueRun, {
      tag: apiTag,
      summary: "Releases a claim. A skipped run comes last for this reviewer.",
      body: reviewBody,
    }),
    handler: (request) => releaseQueueRun(store.forRequest(request), request),
  });
  app.route<{ Body: ReviewBody }>({
    ...route(uiEndpoints.finishQueueRun, {
      tag: apiTag,
      summary: "Marks the run as done by the reviewer. Repeating the request changes nothing.",
      body: reviewBody,
    }),
    handler: (request) => finishQueueRun(store.forRequest(request), request),
  });
  app.route<{ Body: ReviewBody }>({
    ...route(uiEndpoints.reopenQueueRun, {
      tag: apiTag,
      summary: "Marks the run as not done by the reviewer, and claims it again.",
      body: reviewBody,
    }),
    handler: (request) => reopenQueueRun(store.forRequest(request), request),
  });
}
