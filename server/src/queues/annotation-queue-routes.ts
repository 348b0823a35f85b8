import { scopeToRequest } from "../http/request-scope.ts";
import type { WithLinks } from "../http/signed-links.ts";
import type { QueueStore } from "./queue-store.ts";
import type { FastifyInstance } from "fastify";
import { endpoints } from "millrace/model";
import {
  addQueueRuns,
  listQueueRuns,
  queueRunPatchBody,
  queueRunsBody,
  readQueueRun,
  readQueueSize,
  removeQueueRun,
  updateQueueRun,
} from "./queue-run-handlers.ts";
import type { QueueRunPatchBody, QueueRunsBody } from "./queue-run-handlers.ts";
import {
  createQueue,
  deleteQueue,
  deleteQueues,
  listQueues,
  listQueuesOfRun,
  queueBody,
  queuePatchBody,
  readQueue,
  updateQueue,
} from "./annotation-queue-handlers.ts";
import type { QueueBody, QueuePatchBody } from "./annotation-queue-handlers.ts";
import { route } from "../http/route.ts";
import {
  deletedQueuesSchema,
  queueEntryListSchema,
  queueEntrySchema,
  queueListSchema,
  queueSchema,
  queueSizeSchema,
  queuedRunListSchema,
  queuedRunSchema,
} from "./annotation-queue-schemas.ts";
import { Deleted } from "../http/schema-parts.ts";

const apiTag = "annotation queues";
const limitDescription = "Maximum number of items, 1 to 100; default 100.";
const offsetDescription = "Number of items to skip.";
const statusDescription =
  "completed if enough reviewers are done with the run; otherwise needs_others_review if the caller is done with it, else needs_my_review. All API callers together count as one reviewer.";

/** Descriptions of the query parameters that lists of queues have. */
export const queueQueryDocs = {
  ids: "Queue id; may be repeated.",
  name: "Exact name.",
  name_contains: "Part of the name, case-insensitive.",
  dataset_id: "Id of the default dataset to which reviewed runs are added.",
  sort_by: "name, created_at or updated_at; default created_at.",
  sort_by_desc: "true (the default) to sort in descending order, or false.",
  limit: limitDescription,
  offset: offsetDescription,
};

/** Routes of annotation queues, in which runs wait for review by people. */
export function addAnnotationQueueRoutes(
  app: FastifyInstance,
  dependencies: WithLinks<QueueStore>,
): void {
  const { store } = dependencies;
  app.route({
    ...route(endpoints.listAnnotationQueues, {
      tag: apiTag,
      summary: "Lists annotation queues, by default the latest first.",
      query: queueQueryDocs,
      response: queueListSchema,
    }),
    handler: (request) => listQueues(store.forRequest(request), request),
  });
  app.route<{ Body: QueueBody }>({
    ...route(endpoints.createAnnotationQueue, {
      tag: apiTag,
      summary:
        "Creates a queue. Repeating the request with the same id and content changes nothing.",
      body: queueBody,
      response: queueSchema,
    }),
    handler: (request) => createQueue(store.forRequest(request), request),
  });
  app.route({
    ...route(endpoints.deleteAnnotationQueues, {
      tag: apiTag,
      summary: "Deletes queues; 207 if some do not exist, 404 if none does.",
      query: { queue_ids: "Queue id; may be repeated, up to 100 times." },
      response: deletedQueuesSchema,
      otherResponses: { 207: deletedQueuesSchema },
    }),
    handler: (request, reply) => deleteQueues(store.forRequest(request), request, reply),
  });
  app.route({
    ...route(endpoints.readAnnotationQueue, {
      tag: apiTag,
      summary: "Reads a queue with its rubric.",
      response: queueSchema,
    }),
    handler: (request) => readQueue(store.forRequest(request), request),
  });
  app.route<{ Body: QueuePatchBody }>({
    ...route(endpoints.updateAnnotationQueue, {
      tag: apiTag,
      summary: "Updates the given fields; null clears a field.",
      body: queuePatchBody,
      response: queueSchema,
    }),
    handler: (request) => updateQueue(store.forRequest(request), request),
  });
  app.route({
    ...route(endpoints.deleteAnnotationQueue, {
      tag: apiTag,
      summary: "Deletes a queue; the runs themselves stay.",
      response: Deleted,
    }),
    handler: (request) => deleteQueue(store.forRequest(request), request),
  });
  app.route({
    ...route(endpoints.listQueuesOfRun, {
      tag: apiTag,
      summary: "Lists the queues that contain a run.",
      response: queueListSchema,
    }),
    handler: (request) => listQueuesOfRun(store.forRequest(request), request),
  });
  addQueueRunRoutes(app, dependencies);
}

function addQueueRunRoutes(app: FastifyInstance, dependencies: WithLinks<QueueStore>): void {
  const { store } = dependencies;
  app.route({
    ...route(endpoints.listAnnotationQueueRuns, {
      tag: apiTag,
      summary: "Lists the runs of a queue, in its order.",
      query: {
        status: statusDescription,
        limit: limitDescription,
        offset: offsetDescription,
        include_stats: "Has no effect.",
        archived: "Has no effect.",
      },
      response: queuedRunListSchema,
    }),
    handler: (request, reply) =>
      listQueueRuns(scopeToRequest(dependencies, request), request, reply),
  });
  for (const endpoint of [
    endpoints.addAnnotationQueueRuns,
    endpoints.addAnnotationQueueRunsByKey,
  ] as const) {
    app.route<{ Body: QueueRunsBody }>({
      ...route(endpoint, {
        tag: apiTag,
        summary:
          "Adds runs to the end of a queue: all of them, or none. A run that is already in it keeps its position.",
        body: queueRunsBody,
        response: queueEntryListSchema,
      }),
      handler: (request) => addQueueRuns(store.forRequest(request), request),
    });
  }
  app.route<{ Body: QueueRunPatchBody }>({
    ...route(endpoints.updateAnnotationQueueRun, {
      tag: apiTag,
      summary: "Updates when a run was reviewed, and its position in the queue.",
      body: queueRunPatchBody,
      response: queueEntrySchema,
    }),
    handler: (request) => updateQueueRun(store.forRequest(request), request),
  });
  app.route({
    ...route(endpoints.removeAnnotationQueueRun, {
      tag: apiTag,
      summary: "Removes a run from a queue; the run itself stays.",
      response: Deleted,
    }),
    handler: (request) => removeQueueRun(store.forRequest(request), request),
  });
  app.route({
    ...route(endpoints.readAnnotationQueueRun, {
      tag: apiTag,
      summary: "Reads the run at an index of the queue; 0 is the first.",
      query: { include_extra: "Has no effect." },
      response: queuedRunSchema,
    }),
    handler: (request, reply) =>
      readQueueRun(scopeToRequest(dependencies, request), request, reply),
  });
  app.route({
    ...route(endpoints.readAnnotationQueueSize, {
      tag: apiTag,
      summary: "Counts the runs in a queue.",
      query: { status: statusDescription },
      response: queueSizeSchema,
    }),
    handler: (request) => readQueueSize(store.forRequest(request), request),
  });
}
