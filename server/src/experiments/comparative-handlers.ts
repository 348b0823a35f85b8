import { randomUUID } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { RequestError } from "../model/errors.ts";
import { JsonObject, Maybe, Time } from "../http/schema-parts.ts";
import { parseOptionalTime } from "../model/parse-time.ts";
import type { Comparative, ComparisonQuery } from "./comparative.ts";
import type { ComparativeJson } from "./comparative-schemas.ts";
import type { FeedbackStats } from "../runs/run-feedback.ts";
import type { ExperimentStore } from "./experiment-store.ts";
import { toIso } from "../http/wire-text.ts";
import { readDatasetId, findDataset } from "../datasets/dataset-handlers.ts";
import { firstValue, parseId, parseIds, parsePage, parseBoolean } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";

/** Body of `POST /datasets/comparative`. Unknown members are ignored. */
export const comparativeBody = Type.Object({
  id: Maybe(Type.String()),
  name: Maybe(Type.String()),
  description: Maybe(Type.String()),
  experiment_ids: Type.Array(Type.String(), { maxItems: 1_000 }),
  reference_dataset_id: Maybe(Type.String()),
  extra: Maybe(JsonObject),
  created_at: Maybe(Time),
});

export type ComparativeBody = Static<typeof comparativeBody>;

/** Handles `POST /datasets/comparative`. */
export async function createComparative(
  store: ExperimentStore,
  { body, tenantId }: FastifyRequest<{ Body: ComparativeBody }>,
): Promise<unknown> {
  const { id, reference_dataset_id: datasetId } = body;
  const experimentIds = body.experiment_ids.map((experimentId) =>
    parseId(experimentId, "experiment id"),
  );
  if (experimentIds.length === 0) {
    // The LangSmith API defines this message, and its clients check for it.
    throw new RequestError(422, "At least one experiment is required");
  }
  const comparative = await store.write.comparatives.create(tenantId, {
    id: typeof id === "string" ? parseId(id, "id") : randomUUID(),
    name: body.name ?? null,
    description: body.description ?? null,
    experimentIds: [...new Set(experimentIds)],
    datasetId: typeof datasetId === "string" ? parseId(datasetId, "reference_dataset_id") : null,
    extra: body.extra ?? null,
    createdMicros: parseOptionalTime(body.created_at, "created_at"),
  });
  return toComparativeJson(comparative);
}

/** Handles `GET /datasets/{id}/comparative`. */
export async function listComparatives(
  store: ExperimentStore,
  request: FastifyRequest,
): Promise<unknown> {
  const { tenantId } = request;
  const query = parseQuery(readDatasetId(request), request.query as QueryString);
  await findDataset(store, request);
  const comparatives = await store.read.comparatives.list(tenantId, query);
  const ids = comparatives.map((comparative) => comparative.id);
  const stats = await store.read.feedback.statsOfComparatives(tenantId, ids);
  return comparatives.map((comparative) =>
    toComparativeJson(comparative, stats.get(comparative.id)),
  );
}

function parseQuery(datasetId: string, query: QueryString): ComparisonQuery {
  const parsed = {
    ids: parseIds(query, "id"),
    name: firstValue(query, "name"),
    nameContains: firstValue(query, "name_contains"),
  };
  return {
    ...Object.fromEntries(Object.entries(parsed).filter(([, value]) => value !== undefined)),
    ...parsePage(query),
    datasetId,
    sortBy: parseColumn(firstValue(query, "sort_by") ?? "created_at"),
    isDescending: parseBoolean(query, "sort_by_desc") ?? true,
  };
}

function parseColumn(text: string): ComparisonQuery["sortBy"] {
  if (text !== "name" && text !== "created_at") {
    const quoted = JSON.stringify(text.slice(0, 64));
    throw new RequestError(422, `sort_by must be name or created_at, not ${quoted}`);
  }
  return text;
}

const toComparativeJson = (
  comparative: Comparative,
  stats: FeedbackStats = {},
): ComparativeJson => ({
  id: comparative.id,
  tenant_id: comparative.tenantId,
  name: comparative.name,
  description: comparative.description,
  reference_dataset_id: comparative.datasetId,
  experiments_info: comparative.experiments,
  feedback_stats: stats,
  extra: comparative.extra,
  created_at: toIso(comparative.createdMicros),
  modified_at: toIso(comparative.modifiedMicros),
});
