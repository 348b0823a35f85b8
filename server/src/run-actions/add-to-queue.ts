import { Type } from "typebox";
import { parseId } from "../http/query-string.ts";
import { defineJobKind } from "../jobs/job-kind.ts";
import type { AnyJobKind } from "../jobs/job-kind.ts";
import { RequestError } from "../model/errors.ts";
import type { AnnotationQueueReads, AnnotationQueueWrites } from "../queues/annotation-queue.ts";
import {
  describeRuns,
  snapshotMatchingRuns,
  matchingRunsSchema,
  readMatchingRuns,
} from "./matching-runs.ts";
import type { MatchingRunStore } from "./matching-runs.ts";

/** The part of the store that adds runs to queues. */
export interface QueueActionStore extends MatchingRunStore {
  readonly read: MatchingRunStore["read"] & { readonly annotationQueues: AnnotationQueueReads };
  readonly write: { readonly annotationQueues: AnnotationQueueWrites };
}

const runsPerStep = 200;

/** Adds all matching runs to the end of an annotation queue. Runs that are already in the queue keep their position. */
export const createAddToQueue = (store: QueueActionStore): AnyJobKind =>
  defineJobKind({
    name: "runs.add_to_queue",
    parameters: Type.Object({
      runs: matchingRunsSchema,
      queue_id: Type.String({ maxLength: 64 }),
    }),
    prepare: async (tenantId, { runs, queue_id }) => {
      const queueId = parseId(queue_id, "queue_id");
      const queue = await store.read.annotationQueues.find(tenantId, queueId);
      if (queue === undefined) {
        throw new RequestError(404, "Queue not found");
      }
      const snapshot = await snapshotMatchingRuns(store, tenantId, runs);
      return {
        title: `Add ${describeRuns(snapshot.total)} to the queue “${queue.name}”`,
        parameters: { queue_id: queueId, runs: snapshot.runs },
        ...(snapshot.total === undefined ? {} : { total: snapshot.total }),
      };
    },
    step: async ({ tenantId, parameters, progress }, cursor) => {
      const { runs, queue_id: queueId } = parameters;
      const limit = runsPerStep;
      const slice = await readMatchingRuns(store, tenantId, { runs, cursor, limit, parts });
      if (slice.runs.length > 0) {
        const keys = slice.runs.map(({ row }) => ({ runId: row.id, projectId: null }));
        await store.write.annotationQueues.addRuns(tenantId, queueId, keys);
      }
      const done = progress.done + slice.runs.length;
      return slice.cursor === undefined
        ? {
            done,
            result: {
              summary: `${describeRuns(done)} ${done === 1 ? "is" : "are"} in the queue.`,
              queue_id: queueId,
            },
          }
        : { cursor: slice.cursor, done };
    },
  });

const parts = new Set(["id"] as const);
