import { randomUUID } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { RequestError } from "../model/errors.ts";
import { disableIdleTimeout } from "../http/disable-idle-timeout.ts";
import { JsonObject, Maybe, Time } from "../http/schema-parts.ts";
import { parseOptionalTime } from "../model/parse-time.ts";
import { dataTypes } from "./dataset.ts";
import type { Dataset, DatasetChanges, DatasetFields } from "./dataset.ts";
import type { DatasetStore } from "./dataset-store.ts";
import { toDatasetJson } from "./dataset-json.ts";
import { parseDatasetQuery } from "./dataset-query.ts";
import { parsePatchedExamples } from "./examples/parse/example-body.ts";
import { parseId, parseIds } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";

const Name = Type.String({ minLength: 1, maxLength: 10_000 });
const commonMembers = {
  description: Maybe(Type.String()),
  inputs_schema_definition: Maybe(JsonObject),
  outputs_schema_definition: Maybe(JsonObject),
  transformations: Maybe(Type.Array(JsonObject, { maxItems: 1_000 })),
};

/** Body of `POST /datasets`. Unknown members are ignored. */
export const datasetBody = Type.Object({
  ...commonMembers,
  name: Name,
  id: Maybe(Type.String()),
  created_at: Maybe(Time),
  data_type: Maybe(Type.Union(dataTypes.map((type) => Type.Literal(type)))),
  externally_managed: Maybe(Type.Boolean()),
  extra: Maybe(JsonObject),
});

/** Body of `PATCH /datasets/{id}`. Omitted members keep their value; null removes a schema. */
export const datasetPatchBody = Type.Object({
  ...commonMembers,
  name: Maybe(Name),
  metadata: Maybe(JsonObject),
  baseline_experiment_id: Maybe(Type.String()),
  patch_examples: Maybe(Type.Record(Type.String(), JsonObject)),
});

export type DatasetBody = Static<typeof datasetBody>;
export type DatasetPatchBody = Static<typeof datasetPatchBody>;

/** Handles `GET /datasets`. */
export async function listDatasets(store: DatasetStore, request: FastifyRequest): Promise<unknown> {
  const query = parseDatasetQuery(request.query as QueryString);
  return (await store.read.datasets.list(request.tenantId, query)).map(toDatasetJson);
}

/** Handles `GET /datasets/{id}`. */
export async function readDataset(store: DatasetStore, request: FastifyRequest): Promise<unknown> {
  return toDatasetJson(await findDataset(store, request));
}

/** Handles `POST /datasets`. */
export async function createDataset(
  store: DatasetStore,
  body: DatasetBody,
  request: FastifyRequest,
): Promise<unknown> {
  const dataset = await store.write.datasets.create(request.tenantId, {
    name: body.name,
    description: body.description ?? null,
    dataType: body.data_type ?? "kv",
    inputsSchema: body.inputs_schema_definition ?? null,
    outputsSchema: body.outputs_schema_definition ?? null,
    extra: body.extra ?? null,
    transformations: body.transformations ?? null,
    externallyManaged: body.externally_managed ?? false,
    baselineExperimentId: null,
    id: body.id === undefined || body.id === null ? randomUUID() : parseId(body.id, "id"),
    createdMicros: parseOptionalTime(body.created_at, "created_at") ?? Date.now() * 1_000,
  });
  return toDatasetJson(dataset);
}

/** Handles `PATCH /datasets/{id}`. */
export async function updateDataset(
  store: DatasetStore,
  body: DatasetPatchBody,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): Promise<unknown> {
  disableIdleTimeout(request, reply);
  const dataset = await findDataset(store, request);
  const fields = selectChangedFields(body, dataset);
  await checkBaseline(store, dataset, fields.baselineExperimentId);
  const changes: DatasetChanges = {
    fields,
    exampleChanges: parsePatchedExamples(body.patch_examples ?? {}),
  };
  return toDatasetJson(await store.write.datasets.update(request.tenantId, dataset.id, changes));
}

/**
 * Checks the experiment that becomes the baseline of a dataset.
 *
 * @throws RequestError 422: there is no such project, or it is not an experiment on the dataset. A 404 would mean that
 * the dataset does not exist.
 */
async function checkBaseline(
  store: DatasetStore,
  { tenantId, id }: Dataset,
  experimentId: string | null = null,
): Promise<void> {
  if (experimentId === null) {
    return;
  }
  const project = await store.read.projects.find(tenantId, experimentId);
  if (project === undefined) {
    throw new RequestError(422, `baseline_experiment_id: there is no experiment ${experimentId}`);
  }
  if (project.referenceDatasetId !== id) {
    throw new RequestError(
      422,
      `baseline_experiment_id: ${experimentId} is not an experiment on this dataset`,
    );
  }
}

/** `DELETE /datasets/{id}`: deletes the dataset with its examples and versions. */
export async function deleteDataset(
  store: DatasetStore,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const id = readDatasetId(request);
  await deleteInSlices(store, [id], { request, reply });
  return { id };
}

/** `DELETE /datasets?dataset_ids`: deletes the named datasets that exist, and returns their ids. */
export async function deleteDatasets(
  store: DatasetStore,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const ids = parseIds(request.query as QueryString, "dataset_ids");
  if (ids === undefined) {
    throw new RequestError(
      422,
      "dataset_ids is missing: pass dataset_ids=<id> once for each dataset to delete",
    );
  }
  return { dataset_ids: await deleteInSlices(store, ids, { request, reply }) };
}

/** Deletes datasets in slices, so that the deletion of a large dataset does not block other writes. */
async function deleteInSlices(
  store: DatasetStore,
  ids: readonly string[],
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): Promise<readonly string[]> {
  disableIdleTimeout(request, reply);
  const deletedIds = await store.write.datasets.deleteMany(request.tenantId, ids);
  await eraseDeletedDatasets(store);
  return deletedIds;
}

/** Erases the rows of all deleted datasets, in slices. */
export async function eraseDeletedDatasets(store: DatasetStore): Promise<void> {
  let hasMore = true;
  while (hasMore) {
    hasMore = await store.write.datasets.sweep();
  }
}

/**
 * Finds the dataset whose id is in the path of the request.
 *
 * @throws RequestError 404: the tenant has no such dataset.
 */
export async function findDataset(
  store: { readonly read: Pick<DatasetStore["read"], "datasets"> },
  request: FastifyRequest,
): Promise<Dataset> {
  const dataset = await store.read.datasets.find(request.tenantId, readDatasetId(request));
  if (dataset === undefined) {
    throw new RequestError(404, "Dataset not found");
  }
  return dataset;
}

/** Returns the dataset id in the path of a request. */
export const readDatasetId = (request: FastifyRequest): string =>
  parseId((request.params as { readonly id: string }).id, "dataset id");

function selectChangedFields(body: DatasetPatchBody, { extra }: Dataset): Partial<DatasetFields> {
  const { name, description, metadata } = body;
  const baselineId = body.baseline_experiment_id;
  return {
    ...(typeof name === "string" && { name }),
    ...(description !== undefined && { description }),
    ...(metadata !== undefined && { extra: { ...extra, metadata: metadata ?? {} } }),
    ...(body.inputs_schema_definition !== undefined && {
      inputsSchema: body.inputs_schema_definition,
    }),
    ...(body.outputs_schema_definition !== undefined && {
      outputsSchema: body.outputs_schema_definition,
    }),
    ...(body.transformations !== undefined && { transformations: body.transformations }),
    ...(baselineId !== undefined && {
      baselineExperimentId:
        baselineId === null ? null : parseId(baselineId, "baseline_experiment_id"),
    }),
  };
}
