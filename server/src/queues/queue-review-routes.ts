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

const tag = "annotation queues";
const reviewer = "The name of whoever reviews.";

/** Reviews, as the page makes them: who has which run, and who is done with it. */
export function addUiAnnotationQueueRoutes(app: FastifyInstance, store: QueueStore): void {
  app.route({
    ...route(uiEndpoints.listReviewedQueues, {
      tag,
      summary: "Annotation queues with how far each is.",
      query: { ...queueQueryDocs, reviewer },
    }),
    handler: (request) => listReviewedQueues(store, request),
  });
  app.route({
    ...route(uiEndpoints.readQueueProgress, {
      tag,
      summary: "How far a queue is, and who reviews it.",
      query: { reviewer },
    }),
    handler: (request) => readQueueProgress(store, request),
  });
  app.route({
    ...route(uiEndpoints.listReviewedRuns, {
      tag,
      summary: "The runs of a queue with their reviews, without what they hold.",
      query: {
        status: "As of GET /annotation-queues/{id}/runs.",
        limit: "1 to 100.",
        offset: "So many are skipped.",
      },
    }),
    handler: (request) => listReviewedRuns(store, request),
  });
  app.route<{ Body: ClaimBody }>({
    ...route(uiEndpoints.claimQueueRun, {
      tag,
      summary:
        "Claims the next run that waits for a reviewer, or one that is named; repeated, it renews the claim. 409: it is others'.",
      body: claimBody,
    }),
    handler: (request) => claimQueueRun(store, request),
  });
  app.route<{ Body: ReviewBody }>({
    ...route(uiEndpoints.releaseQueueRun, {
      tag,
      summary: "Gives a claim back; a run that was skipped comes last for its reviewer.",
      body: reviewBody,
    }),
    handler: (request) => releaseQueueRun(store, request),
  });
  app.route<{ Body: ReviewBody }>({
    ...route(uiEndpoints.finishQueueRun, {
      tag,
      summary: "The reviewer is done with the run; repeated, it changes nothing.",
      body: reviewBody,
    }),
    handler: (request) => finishQueueRun(store, request),
  });
  app.route<{ Body: ReviewBody }>({
    ...route(uiEndpoints.reopenQueueRun, {
      tag,
      summary: "Takes the reviewer's mark back, and claims the run for them.",
      body: reviewBody,
    }),
    handler: (request) => reopenQueueRun(store, request),
  });
}
