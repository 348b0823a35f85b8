import { randomUUID } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { RequestError } from "../model/errors.ts";
import { JsonObject, Maybe, Time } from "../http/schema-parts.ts";
import { feedbackConfigSchema } from "../runs/ingest/parse-feedback.ts";
import { parseOptionalTime } from "../model/parse-time.ts";
import { serverLimits } from "../model/options.ts";
import { createMissingQueueError } from "./annotation-queue.ts";
import type { AnnotationQueue, QueueQuery } from "./annotation-queue.ts";
import type { QueueStore } from "./queue-store.ts";
import { toQueueJson } from "./annotation-queue-json.ts";
import {
  allValues,
  firstValue,
  parseId,
  parseIds,
  parsePage,
  parseBoolean,
} from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";

const TextsByName = Type.Record(Type.String(), Type.String());

const commonMembers = {
  description: Maybe(Type.String()),
  default_dataset: Maybe(Type.String()),
  rubric_instructions: Maybe(Type.String()),
  rubric_items: Maybe(
    Type.Array(
      Type.Object({
        feedback_key: Type.String(),
        description: Maybe(Type.String()),
        value_descriptions: Maybe(TextsByName),
        score_descriptions: Maybe(TextsByName),
        is_required: Maybe(Type.Boolean()),
        is_assertion: Maybe(Type.Boolean()),
        feedback_config: Maybe(feedbackConfigSchema),
      }),
    ),
  ),
  metadata: Maybe(JsonObject),
  num_reviewers_per_item: Maybe(
    Type.Integer({ minimum: 1, maximum: serverLimits.reviewersPerRun }),
  ),
  enable_reservations: Maybe(Type.Boolean()),
  reservation_minutes: Maybe(Type.Integer({ minimum: 1, maximum: serverLimits.claimMinutes })),
  reviewer_access_mode: Maybe(Type.String()),
};

const Name = Type.String({ minLength: 1 });

/** Body of `POST /annotation-queues`. Unknown members are ignored. */
export const queueBody = Type.Object({
  ...commonMembers,
  name: Name,
  id: Maybe(Type.String()),
  created_at: Maybe(Time),
});

/** Body of `PATCH /annotation-queues/{id}`. Omitted members keep their value, null clears a member. */
export const queuePatchBody = Type.Object({ ...commonMembers, name: Maybe(Name) });

export type QueueBody = Static<typeof queueBody>;
export type QueuePatchBody = Static<typeof queuePatchBody>;

/** Handles `GET /annotation-queues`. */
export async function listQueues(store: QueueStore, request: FastifyRequest): Promise<unknown> {
  const query = parseQueueQuery(request.query as QueryString);
  const queues = await store.read.annotationQueues.list(request.tenantId, query);
  return queues.map(toQueueJson);
}

/** Handles `GET /annotation-queues/{id}`. */
export async function readQueue(store: QueueStore, request: FastifyRequest): Promise<unknown> {
  return toQueueJson(await findQueue(store, request));
}

/** Handles `POST /annotation-queues`. */
export async function createQueue(
  store: QueueStore,
  { body, tenantId }: FastifyRequest<{ Body: QueueBody }>,
): Promise<unknown> {
  const { id } = body;
  const queue = await store.write.annotationQueues.create(tenantId, {
    id: id === undefined || id === null ? randomUUID() : parseId(id, "id"),
    name: body.name,
    description: body.description ?? null,
    defaultDatasetId: readDatasetId(body) ?? null,
    rubricInstructions: body.rubric_instructions ?? null,
    rubricItems: body.rubric_items ?? null,
    metadata: body.metadata ?? null,
    reviewers: selectReviewerMembers(body),
    createdMicros: parseOptionalTime(body.created_at, "created_at"),
  });
  return toQueueJson(queue);
}

/** Handles `PATCH /annotation-queues/{id}`. */
export async function updateQueue(
  store: QueueStore,
  request: FastifyRequest<{ Body: QueuePatchBody }>,
): Promise<unknown> {
  const { body, tenantId } = request;
  const queue = await store.write.annotationQueues.update(tenantId, readQueueId(request), {
    // A name can't be cleared, so null leaves it unchanged.
    name: body.name ?? undefined,
    description: body.description,
    defaultDatasetId: readDatasetId(body),
    rubricInstructions: body.rubric_instructions,
    rubricItems: body.rubric_items,
    // LangSmith clients send this marker to leave the metadata unchanged.
    metadata: isUnchangedMarker(body.metadata) ? undefined : body.metadata,
    reviewers: selectReviewerMembers(body),
  });
  return toQueueJson(queue);
}

/** `DELETE /annotation-queues/{id}`: deletes a queue. Its runs are not deleted. */
export async function deleteQueue(store: QueueStore, request: FastifyRequest): Promise<unknown> {
  const id = readQueueId(request);
  const deletedIds = await store.write.annotationQueues.delete(request.tenantId, [id]);
  if (deletedIds.length === 0) {
    throw createMissingQueueError(id);
  }
  return { id };
}

/**
 * `DELETE /annotation-queues?queue_ids`: deletes queues. Responds with status 207 if some do not exist, with 404 if
 * none exists.
 */
export async function deleteQueues(
  store: QueueStore,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const query = request.query as QueryString;
  const ids = [...new Set(parseIds(query, "queue_ids"))];
  if (ids.length === 0 || (allValues(query, "queue_ids")?.length ?? 0) > maxQueuesPerDeletion) {
    throw new RequestError(422, `queue_ids must contain 1 to ${maxQueuesPerDeletion} ids`);
  }
  const deleted = new Set(await store.write.annotationQueues.delete(request.tenantId, ids));
  const missing = ids.filter((id) => !deleted.has(id));
  if (deleted.size === 0) {
    throw new RequestError(404, `Annotation queues not found: ${missing.join(", ")}`);
  }
  return reply
    .code(missing.length === 0 ? 200 : 207)
    .send({ deleted: [...deleted], not_found: missing });
}

/** `GET /annotation-queues/{run_id}/queues`: lists the queues that contain a run, whose id is in the path. */
export async function listQueuesOfRun(
  store: QueueStore,
  request: FastifyRequest,
): Promise<unknown> {
  const runId = parseId((request.params as { readonly id: string }).id, "run id");
  if ((await store.read.runs.find(request.tenantId, runId)) === undefined) {
    throw new RequestError(404, "Run not found");
  }
  const queues = await store.read.annotationQueues.list(request.tenantId, {
    runId,
    sortBy: "created_at",
    isDescending: true,
    limit: Number.MAX_SAFE_INTEGER,
    offset: 0,
  });
  return queues.map(toQueueJson);
}

/**
 * Finds the queue that the path names.
 *
 * @throws RequestError 404: it does not exist.
 */
export async function findQueue(
  store: QueueStore,
  request: FastifyRequest,
): Promise<AnnotationQueue> {
  const id = readQueueId(request);
  const queue = await store.read.annotationQueues.find(request.tenantId, id);
  if (queue === undefined) {
    throw createMissingQueueError(id);
  }
  return queue;
}

/** Returns the queue id in the path of a request. */
export const readQueueId = (request: FastifyRequest): string =>
  parseId((request.params as { readonly id: string }).id, "annotation queue id");

/** Maximum number of queues that one request deletes. */
const maxQueuesPerDeletion = 100;

/**
 * Parses the filters of a list of queues.
 *
 * @throws RequestError 422: a parameter has an invalid value.
 */
export function parseQueueQuery(query: QueryString): QueueQuery {
  const datasetId = firstValue(query, "dataset_id");
  const parsedFilters = {
    ids: parseIds(query, "ids"),
    name: firstValue(query, "name"),
    nameContains: firstValue(query, "name_contains"),
    defaultDatasetId: datasetId === undefined ? undefined : parseId(datasetId, "dataset_id"),
  };
  return {
    ...Object.fromEntries(Object.entries(parsedFilters).filter(([, value]) => value !== undefined)),
    ...parsePage(query),
    sortBy: parseSortColumn(firstValue(query, "sort_by") ?? "created_at"),
    isDescending: parseBoolean(query, "sort_by_desc") ?? true,
  };
}

function parseSortColumn(text: string): QueueQuery["sortBy"] {
  if (text !== "name" && text !== "created_at" && text !== "updated_at") {
    const quoted = JSON.stringify(text.slice(0, 64));
    throw new RequestError(422, `sort_by must be name, created_at or updated_at, not ${quoted}`);
  }
  return text;
}

const readDatasetId = ({ default_dataset: id }: QueuePatchBody): string | null | undefined =>
  typeof id === "string" ? parseId(id, "default_dataset") : id;

const reviewerMembers = [
  "num_reviewers_per_item",
  "enable_reservations",
  "reservation_minutes",
  "reviewer_access_mode",
] as const;

const selectReviewerMembers = (body: QueuePatchBody): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    reviewerMembers.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]])),
  ) as Readonly<Record<string, unknown>>;

/** Whether the metadata is the marker that LangSmith clients send to leave the metadata unchanged. */
const isUnchangedMarker = (metadata: QueuePatchBody["metadata"]): boolean =>
  metadata?.["__missing__"] === "__missing__";
