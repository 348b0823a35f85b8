import type { Linked } from "../shares/signed-links.ts";
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

const tag = "annotation queues";
const limit = "At most so many, from 1 to 100; 100 where it is left out.";
const offset = "So many are skipped.";
const status =
  "completed: as many reviewed it as the queue asks for; else needs_others_review where whoever asks is done with it, and needs_my_review where not. Whoever calls the API is one reviewer.";

/** What lists of queues are narrowed by. */
export const queueQueryDocs = {
  ids: "Ids, any of which it has; may be repeated.",
  name: "Its name.",
  name_contains: "Part of its name, in either case.",
  dataset_id: "The dataset that reviewed runs go to.",
  sort_by: "name, created_at or updated_at; created_at where it is left out.",
  sort_by_desc: "Whether the last comes first: true or false; true where it is left out.",
  limit,
  offset,
};

/** Runs in line for review by people: the queues. */
export function addAnnotationQueueRoutes(
  app: FastifyInstance,
  dependencies: Linked<QueueStore>,
): void {
  const { store } = dependencies;
  app.route({
    ...route(endpoints.listAnnotationQueues, {
      tag,
      summary: "Annotation queues, the latest first.",
      query: queueQueryDocs,
    }),
    handler: (request) => listQueues(store, request),
  });
  app.route<{ Body: QueueBody }>({
    ...route(endpoints.createAnnotationQueue, {
      tag,
      summary: "Makes a queue; repeated with the same id and content, it changes nothing.",
      body: queueBody,
    }),
    handler: (request) => createQueue(store, request),
  });
  app.route({
    ...route(endpoints.deleteAnnotationQueues, {
      tag,
      summary: "Deletes queues; 207 where some were not there, 404 where none was.",
      query: { queue_ids: "Ids, at most 100; may be repeated." },
    }),
    handler: (request, reply) => deleteQueues(store, request, reply),
  });
  app.route({
    ...route(endpoints.readAnnotationQueue, { tag, summary: "One queue, with its rubric." }),
    handler: (request) => readQueue(store, request),
  });
  app.route<{ Body: QueuePatchBody }>({
    ...route(endpoints.updateAnnotationQueue, {
      tag,
      summary: "Changes what is given; null takes away.",
      body: queuePatchBody,
    }),
    handler: (request) => updateQueue(store, request),
  });
  app.route({
    ...route(endpoints.deleteAnnotationQueue, {
      tag,
      summary: "Deletes a queue; the runs in it stay.",
    }),
    handler: (request) => deleteQueue(store, request),
  });
  app.route({
    ...route(endpoints.listQueuesOfRun, { tag, summary: "The queues that a run is in." }),
    handler: (request) => listQueuesOfRun(store, request),
  });
  addQueueRunRoutes(app, dependencies);
}

/** What is in the queues. */
function addQueueRunRoutes(app: FastifyInstance, dependencies: Linked<QueueStore>): void {
  const { store } = dependencies;
  app.route({
    ...route(endpoints.listAnnotationQueueRuns, {
      tag,
      summary: "The runs of a queue, in its order.",
      query: { status, limit, offset, include_stats: "Has no effect.", archived: "Has no effect." },
    }),
    handler: (request, reply) => listQueueRuns(dependencies, request, reply),
  });
  for (const endpoint of [
    endpoints.addAnnotationQueueRuns,
    endpoints.addAnnotationQueueRunsByKey,
  ] as const) {
    app.route<{ Body: QueueRunsBody }>({
      ...route(endpoint, {
        tag,
        summary:
          "Puts runs at the end of a queue: all of them, or none. One that is in it keeps its place.",
        body: queueRunsBody,
      }),
      handler: (request) => addQueueRuns(store, request),
    });
  }
  app.route<{ Body: QueueRunPatchBody }>({
    ...route(endpoints.updateAnnotationQueueRun, {
      tag,
      summary: "Changes when a run was reviewed, and its place in the order.",
      body: queueRunPatchBody,
    }),
    handler: (request) => updateQueueRun(store, request),
  });
  app.route({
    ...route(endpoints.removeAnnotationQueueRun, {
      tag,
      summary: "Takes a run out of a queue; the run itself stays.",
    }),
    handler: (request) => removeQueueRun(store, request),
  });
  app.route({
    ...route(endpoints.readAnnotationQueueRun, {
      tag,
      summary: "The run at a place of the queue's order; 0 is the first.",
      query: { include_extra: "Has no effect." },
    }),
    handler: (request, reply) => readQueueRun(dependencies, request, reply),
  });
  app.route({
    ...route(endpoints.readAnnotationQueueSize, {
      tag,
      summary: "How many runs are in a queue.",
      query: { status },
    }),
    handler: (request) => readQueueSize(store, request),
  });
}
