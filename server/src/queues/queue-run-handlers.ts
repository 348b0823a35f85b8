import type { WithLinks } from "../http/signed-links.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { RequestError } from "../model/errors.ts";
import { Maybe, Time } from "../http/schema-parts.ts";
import { parseOptionalTime } from "../model/parse-time.ts";
import { serverLimits } from "../model/options.ts";
import { reviewStatuses } from "./annotation-queue.ts";
import type { EntryKey, EntryQuery, ReviewStatus, RunKey } from "./annotation-queue.ts";
import type { QueueStore } from "./queue-store.ts";
import { toEntryJson, toQueuedRunJson } from "./annotation-queue-json.ts";
import { toArrayJson } from "../runs/serializers/run-json.ts";
import { findQueue, readQueueId } from "./annotation-queue-handlers.ts";
import { firstValue, parseId, parsePage } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";
import { createFileLinker } from "../runs/handlers/run-handlers.ts";

const jsonType = "application/json; charset=utf-8";

const runKey = Type.Object({
  run_id: Type.String(),
  session_id: Maybe(Type.String()),
  start_time: Maybe(Time),
});

/** Body of `POST /annotation-queues/{id}/runs`: ids, or objects with the run's id and project. */
export const queueRunsBody = Type.Array(Type.Union([Type.String(), runKey]), {
  maxItems: serverLimits.queueRunsMax,
});

/** Body of `PATCH /annotation-queues/{id}/runs/{queue_run_id}`. */
export const queueRunPatchBody = Type.Object({
  last_reviewed_time: Maybe(Time),
  added_at: Maybe(Time),
});

export type QueueRunsBody = Static<typeof queueRunsBody>;
export type QueueRunPatchBody = Static<typeof queueRunPatchBody>;

/** `POST /annotation-queues/{id}/runs` and `/runs/by-key`: adds runs to a queue. */
export async function addQueueRuns(
  store: QueueStore,
  request: FastifyRequest<{ Body: QueueRunsBody }>,
): Promise<unknown> {
  const keys = request.body.map(toRunKey);
  const { tenantId } = request;
  const entries = await store.write.annotationQueues.addRuns(tenantId, readQueueId(request), keys);
  return entries.map(toEntryJson);
}

/** `GET /annotation-queues/{id}/runs`: lists the runs of a queue in its order. */
export async function listQueueRuns(
  dependencies: WithLinks<QueueStore>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const query = request.query as QueryString;
  const page = parsePage(query);
  const status = parseStatus(query);
  const { id: queueId } = await findQueue(dependencies.store, request);
  const serializedRuns = await serializeQueuedRuns(dependencies, request, {
    queueId,
    status,
    ...page,
  });
  return reply.type(jsonType).send(toArrayJson(serializedRuns));
}

/** `GET /annotation-queues/{id}/run/{index}`: reads the run at a position in the queue; the first position is 0. */
export async function readQueueRun(
  dependencies: WithLinks<QueueStore>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { index } = request.params as { readonly index: string };
  if (!/^\d{1,15}$/.test(index)) {
    throw new RequestError(
      422,
      `index must be an integer of at least 0, not ${JSON.stringify(index)}`,
    );
  }
  const { id: queueId, size } = await findQueue(dependencies.store, request);
  const page = { queueId, status: undefined, limit: 1, offset: Number(index) };
  const [run] = await serializeQueuedRuns(dependencies, request, page);
  if (run === undefined) {
    throw new RequestError(404, `There is no run at index ${index}: the queue has ${size} runs`);
  }
  return reply.type(jsonType).send(run);
}

/** `PATCH /annotation-queues/{id}/runs/{queue_run_id}`: changes an entry. Omitted members keep their value. */
export async function updateQueueRun(
  store: QueueStore,
  request: FastifyRequest<{ Body: QueueRunPatchBody }>,
): Promise<unknown> {
  const { last_reviewed_time: reviewedTime, added_at: addedTime } = request.body;
  const entry = await store.write.annotationQueues.updateRun(
    request.tenantId,
    readEntryKey(request),
    {
      reviewedMicros:
        reviewedTime === undefined
          ? undefined
          : parseOptionalTime(reviewedTime, "last_reviewed_time"),
      addedMicros: parseOptionalTime(addedTime, "added_at") ?? undefined,
    },
  );
  return toEntryJson(entry);
}

/**
 * `DELETE /annotation-queues/{id}/runs/{queue_run_id}`: removes a run from a queue. The run itself is not deleted.
 */
export async function removeQueueRun(store: QueueStore, request: FastifyRequest): Promise<unknown> {
  const key = readEntryKey(request);
  await store.write.annotationQueues.removeRun(request.tenantId, key);
  return { id: key.entryId };
}

/** Handles `GET /annotation-queues/{id}/size`. */
export async function readQueueSize(store: QueueStore, request: FastifyRequest): Promise<unknown> {
  const status = parseStatus(request.query as QueryString);
  const { id: queueId } = await findQueue(store, request);
  return {
    size: await store.read.annotationQueues.countEntries(request.tenantId, { queueId, status }),
  };
}

async function serializeQueuedRuns(
  { store, links }: WithLinks<QueueStore>,
  request: FastifyRequest,
  query: EntryQuery,
): Promise<Buffer[]> {
  const { tenantId } = request;
  const link = createFileLinker(links, request);
  const entries = await store.read.annotationQueues.listEntries(tenantId, query);
  const runIds = entries.map(({ runId }) => runId);
  const [stats, runs] = await Promise.all([
    store.read.feedback.readStatsOfRuns(tenantId, runIds),
    Promise.all(runIds.map((id) => store.read.runs.find(tenantId, id))),
  ]);
  return entries.flatMap((entry, index) => {
    const run = runs[index];
    return run === undefined
      ? []
      : [toQueuedRunJson(entry, run, { link, feedbackStats: stats.get(entry.runId) })];
  });
}

function toRunKey(key: QueueRunsBody[number]): RunKey {
  if (typeof key === "string") {
    return { runId: parseId(key, "run id"), projectId: null };
  }
  const { run_id: runId, session_id: projectId } = key;
  return {
    runId: parseId(runId, "run_id"),
    projectId: typeof projectId === "string" ? parseId(projectId, "session_id") : null,
  };
}

/**
 * Parses the query parameter `status`, the review status of entries.
 *
 * @throws RequestError 422: its value is unknown.
 */
export function parseStatus(query: QueryString): ReviewStatus | undefined {
  const text = firstValue(query, "status");
  const status = reviewStatuses.find((value) => value === text);
  if (text !== undefined && status === undefined) {
    const quoted = JSON.stringify(text.slice(0, 64));
    throw new RequestError(
      422,
      `status must be one of ${reviewStatuses.join(", ")}, not ${quoted}`,
    );
  }
  return status;
}

const readEntryKey = (request: FastifyRequest): EntryKey => ({
  queueId: readQueueId(request),
  entryId: parseId((request.params as { readonly queueRunId: string }).queueRunId, "queue run id"),
});
