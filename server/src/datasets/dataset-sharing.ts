import type { WithLinks } from "../http/signed-links.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { RequestError } from "../model/errors.ts";
import type { Dataset } from "./dataset.ts";
import { readToken } from "../storage/share-token.ts";
import type { DatasetStore } from "./dataset-store.ts";
import { toSharedDatasetJson } from "./dataset-json.ts";
import { allMembers, toExampleJson, toJsonListInSlices } from "./examples/example-json.ts";
import { findVersionTime, readAsOf } from "./as-of.ts";
import { readDatasetId, findDataset } from "./dataset-handlers.ts";
import { parseExampleFilter, parseExampleQuery, parseSelect } from "./examples/example-query.ts";
import type { ExampleScope } from "./examples/example-query.ts";
import { createAttachmentLinker, sendJson } from "./examples/example-handlers.ts";
import { parseId } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";

/** `GET /datasets/{id}/share`: returns the share token; null if the dataset is not shared. */
export async function readDatasetShare(
  store: DatasetStore,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { id, shareToken } = await findDataset(store, request);
  const token = readToken(shareToken);
  const share = token === null ? null : { dataset_id: id, share_token: token };
  return sendJson(reply, Buffer.from(JSON.stringify(share)));
}

/** `PUT /datasets/{id}/share`: shares the dataset. Repeating the request returns the same token. */
export async function shareDataset(store: DatasetStore, request: FastifyRequest): Promise<unknown> {
  const id = readDatasetId(request);
  const token = await store.write.datasets.share(request.tenantId, id);
  return { dataset_id: id, share_token: token };
}

/** `DELETE /datasets/{id}/share`: revokes the token. */
export async function unshareDataset(
  store: DatasetStore,
  request: FastifyRequest,
): Promise<unknown> {
  const id = readDatasetId(request);
  await store.write.datasets.unshare(request.tenantId, id);
  return { dataset_id: id };
}

/** Handles `GET /public/{token}/datasets`. */
export async function readSharedDataset(
  store: DatasetStore,
  request: FastifyRequest,
): Promise<unknown> {
  return toSharedDatasetJson(await findSharedDataset(store, request));
}

/** Handles `GET /public/{token}/examples`. */
export async function listSharedExamples(
  { store, links }: WithLinks<DatasetStore>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const query = request.query as QueryString;
  const dataset = await findSharedDataset(store, request);
  const exampleQuery = parseExampleQuery(query, await findExampleScope(store, dataset, query));
  // The holder of a share token must not learn from which run an example was created.
  const selectedMembers = new Set(
    [...parseSelect(query, allMembers)].filter((name) => name !== sourceRunMember),
  );
  const view = {
    select: selectedMembers,
    createAttachmentUrl: createAttachmentLinker(links, request),
  };
  const examples = await store.read.examples.list(dataset.tenantId, exampleQuery);
  return sendJson(
    reply,
    await toJsonListInSlices(examples, (example) => toExampleJson(example, view)),
  );
}

/** Handles `GET /public/{token}/examples/count`. */
export async function countSharedExamples(
  { store }: WithLinks<DatasetStore>,
  request: FastifyRequest,
): Promise<number> {
  const query = request.query as QueryString;
  const dataset = await findSharedDataset(store, request);
  const filter = parseExampleFilter(query, await findExampleScope(store, dataset, query));
  return store.read.examples.count(dataset.tenantId, filter);
}

const sourceRunMember = "source_run_id";

const findExampleScope = async (
  store: DatasetStore,
  dataset: Dataset,
  query: QueryString,
): Promise<ExampleScope> => ({
  datasetId: dataset.id,
  versionTime: await findVersionTime(store, dataset, readAsOf(query)),
});

/**
 * Finds the dataset that is shared under the token in the path of the request.
 *
 * @throws RequestError 404: no dataset is shared under the token.
 */
async function findSharedDataset(store: DatasetStore, request: FastifyRequest): Promise<Dataset> {
  const token = parseId((request.params as { readonly token: string }).token, "share token");
  const dataset = await store.read.datasets.findShared(token);
  if (dataset === undefined) {
    throw new RequestError(404, "no dataset is shared under this token");
  }
  return dataset;
}
