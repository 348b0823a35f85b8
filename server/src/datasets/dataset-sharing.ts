import type { WithLinks } from "../http/signed-links.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { RequestError } from "../model/errors.ts";
import type { Dataset } from "./dataset.ts";
import { readToken } from "../storage/share-token.ts";
import type { DatasetStore } from "./dataset-store.ts";
import { toSharedDatasetJson } from "./dataset-json.ts";
import { allMembers, toExampleJson, toJsonListInSlices } from "./examples/example-json.ts";
import { findMoment, readAsOf } from "./as-of.ts";
import { datasetIdOf, findDataset } from "./dataset-handlers.ts";
import { parseExampleFilter, parseExampleQuery, parseSelect } from "./examples/example-query.ts";
import type { ExampleScope } from "./examples/example-query.ts";
import { linkFor, sendJson } from "./examples/example-handlers.ts";
import { parseId } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";

/** `GET /datasets/{id}/share`: null if it is not shared. */
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

/** `PUT /datasets/{id}/share`: returns the same token when repeated. */
export async function shareDataset(store: DatasetStore, request: FastifyRequest): Promise<unknown> {
  const id = datasetIdOf(request);
  const token = await store.write.datasets.share(request.tenantId, id);
  return { dataset_id: id, share_token: token };
}

/** `DELETE /datasets/{id}/share`: revokes the token. */
export async function unshareDataset(
  store: DatasetStore,
  request: FastifyRequest,
): Promise<unknown> {
  const id = datasetIdOf(request);
  await store.write.datasets.unshare(request.tenantId, id);
  return { dataset_id: id };
}

/** `GET /public/{token}/datasets`. */
export async function readSharedDataset(
  store: DatasetStore,
  request: FastifyRequest,
): Promise<unknown> {
  return toSharedDatasetJson(await findShared(store, request));
}

/** `GET /public/{token}/examples`. */
export async function listSharedExamples(
  { store, links }: WithLinks<DatasetStore>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const query = request.query as QueryString;
  const dataset = await findShared(store, request);
  const parsed = parseExampleQuery(query, await scopeOf(store, dataset, query));
  // A reader of the share must not see the run from which an example was created.
  const select = new Set([...parseSelect(query, allMembers)].filter((name) => name !== runMember));
  const view = { select, link: linkFor(links, request) };
  const examples = await store.read.examples.list(dataset.tenantId, parsed);
  return sendJson(
    reply,
    await toJsonListInSlices(examples, (example) => toExampleJson(example, view)),
  );
}

/** `GET /public/{token}/examples/count`. */
export async function countSharedExamples(
  { store }: WithLinks<DatasetStore>,
  request: FastifyRequest,
): Promise<number> {
  const query = request.query as QueryString;
  const dataset = await findShared(store, request);
  const filter = parseExampleFilter(query, await scopeOf(store, dataset, query));
  return store.read.examples.count(dataset.tenantId, filter);
}

const runMember = "source_run_id";

const scopeOf = async (
  store: DatasetStore,
  dataset: Dataset,
  query: QueryString,
): Promise<ExampleScope> => ({
  datasetId: dataset.id,
  moment: await findMoment(store, dataset, readAsOf(query)),
});

/**
 * Finds the dataset of the share token in the path.
 *
 * @throws RequestError 404: no dataset is shared under the token.
 */
async function findShared(store: DatasetStore, request: FastifyRequest): Promise<Dataset> {
  const token = parseId((request.params as { readonly token: string }).token, "share token");
  const dataset = await store.read.datasets.findShared(token);
  if (dataset === undefined) {
    throw new RequestError(404, "no dataset is shared under this token");
  }
  return dataset;
}
