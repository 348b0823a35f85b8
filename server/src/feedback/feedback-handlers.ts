import type { FastifyRequest } from "fastify";
import { RequestError } from "../model/errors.ts";
import { toFeedbackDraft } from "../runs/ingest/parse-feedback.ts";
import type { FeedbackBody, FeedbackPatchBody } from "../runs/ingest/parse-feedback.ts";
import { parseOptionalTime, parseTimeBound } from "../model/parse-time.ts";
import type { FeedbackQuery } from "./feedback.ts";
import type { FeedbackStore } from "./feedback-store.ts";
import { toFeedbackJson } from "./feedback-json.ts";
import {
  allValues,
  firstValue,
  parseId,
  parseIds,
  parsePage,
  parseBoolean,
} from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";

/** Handles `POST /feedback`. */
export async function createFeedback(
  store: FeedbackStore,
  { body, tenantId }: FastifyRequest<{ Body: FeedbackBody }>,
): Promise<unknown> {
  return toFeedbackJson(await store.write.feedback.create(tenantId, toFeedbackDraft(body)));
}

/** Handles `GET /feedback/{id}`. */
export async function readFeedback(
  store: FeedbackStore,
  request: FastifyRequest,
): Promise<unknown> {
  const feedback = await store.read.feedback.find(request.tenantId, idOf(request));
  if (feedback === undefined) {
    throw new RequestError(404, "Feedback not found");
  }
  return toFeedbackJson(feedback);
}

/** Handles `GET /feedback`. */
export async function listFeedback(
  store: FeedbackStore,
  request: FastifyRequest,
): Promise<unknown> {
  const query = request.query as QueryString;
  const items = await store.read.feedback.list(request.tenantId, parseQuery(query));
  // Feedback on this server has no user, so no feedback matches a filter by user.
  return parseIds(query, "user") === undefined ? items.map(toFeedbackJson) : [];
}

/** Handles `PATCH /feedback/{id}`. */
export async function updateFeedback(
  store: FeedbackStore,
  request: FastifyRequest<{ Body: FeedbackPatchBody }>,
): Promise<unknown> {
  const { score, value, comment, correction, feedback_config: config } = request.body;
  const changes = { score, value, comment, correction, config };
  return toFeedbackJson(
    await store.write.feedback.update(request.tenantId, idOf(request), changes),
  );
}

/** Handles `DELETE /feedback/{id}`. */
export async function deleteFeedback(
  store: FeedbackStore,
  request: FastifyRequest,
): Promise<unknown> {
  const id = idOf(request);
  await store.write.feedback.delete(request.tenantId, id);
  return { id };
}

function parseQuery(query: QueryString): FeedbackQuery {
  const level = firstValue(query, "level");
  if (level !== undefined && level !== "run" && level !== "session") {
    throw new RequestError(
      422,
      `level must be run or session, not ${JSON.stringify(level.slice(0, 64))}`,
    );
  }
  const comparativeId = firstValue(query, "comparative_experiment_id");
  const parsed = {
    runIds: parseJoinedIds(query, "run"),
    projectIds: parseJoinedIds(query, "session"),
    keys: allValues(query, "key"),
    sourceTypes: allValues(query, "source"),
    level,
    hasScore: parseBoolean(query, "has_score"),
    hasComment: parseBoolean(query, "has_comment"),
    comparativeId:
      comparativeId === undefined ? undefined : parseId(comparativeId, "comparative_experiment_id"),
    minCreatedMicros:
      parseOptionalTime(firstValue(query, "min_created_at"), "min_created_at", parseTimeBound) ??
      undefined,
    maxCreatedMicros:
      parseOptionalTime(firstValue(query, "max_created_at"), "max_created_at", parseTimeBound) ??
      undefined,
  } as const;
  return {
    ...Object.fromEntries(Object.entries(parsed).filter(([, value]) => value !== undefined)),
    ...parsePage(query),
  };
}

/**
 * Reads the ids of a query parameter. Clients either repeat the parameter for each id, or send one value with all ids
 * separated by commas. An empty value means an empty list of ids.
 */
const parseJoinedIds = (query: QueryString, name: string): readonly string[] | undefined =>
  allValues(query, name)
    ?.flatMap((ids) => ids.split(","))
    .filter((id) => id !== "")
    .map((id) => parseId(id, name));

const idOf = (request: FastifyRequest): string =>
  parseId((request.params as { readonly id: string }).id, "feedback id");
