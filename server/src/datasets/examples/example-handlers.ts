import type { WithLinks, SignedLinks } from "../../http/signed-links.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { RequestError } from "../../model/errors.ts";
import { disableIdleTimeout } from "../../http/disable-idle-timeout.ts";
import type { Example } from "./example.ts";
import type { DatasetStore } from "../dataset-store.ts";
import { allMembers, toExampleJson, toJsonListInSlices } from "./example-json.ts";
import { findVersionTime, readAsOf } from "../as-of.ts";
import { parseExampleFilter, parseExampleQuery, parseSelect } from "./example-query.ts";
import type { ExampleScope } from "./example-query.ts";
import { firstValue, parseId, parseIds } from "../../http/query-string.ts";
import type { QueryString } from "../../http/query-string.ts";

/** Handles `GET /examples`. */
export async function listExamples(
  { store, links }: WithLinks<DatasetStore>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const query = request.query as QueryString;
  const exampleQuery = parseExampleQuery(query, await findExampleScope(store, request));
  const view = {
    select: parseSelect(query),
    createAttachmentUrl: createAttachmentLinker(links, request),
  };
  const examples = await store.read.examples.list(request.tenantId, exampleQuery);
  return sendJson(
    reply,
    await toJsonListInSlices(examples, (example) => toExampleJson(example, view)),
  );
}

/** Handles `GET /examples/count`. */
export async function countExamples(
  { store }: WithLinks<DatasetStore>,
  request: FastifyRequest,
): Promise<number> {
  const scope = await findExampleScope(store, request);
  return store.read.examples.count(
    request.tenantId,
    parseExampleFilter(request.query as QueryString, scope),
  );
}

/** Handles `GET /examples/{id}`. */
export async function readExample(
  { store, links }: WithLinks<DatasetStore>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { tenantId } = request;
  const query = request.query as QueryString;
  const id = readExampleId(request);
  const datasetParameter = firstValue(query, "dataset");
  const datasetId =
    datasetParameter === undefined || datasetParameter === ""
      ? await store.read.examples.findDatasetId(tenantId, id)
      : parseId(datasetParameter, "dataset");
  const example =
    datasetId === undefined
      ? undefined
      : await store.read.examples.find(
          tenantId,
          id,
          await findVersionTime(store, { tenantId, id: datasetId }, readAsOf(query)),
        );
  if (example === undefined || example.datasetId !== datasetId) {
    throw new RequestError(404, "Example not found");
  }
  return sendExample(reply, example, createAttachmentLinker(links, request));
}

/** `DELETE /examples/{id}`: removes the example from the newest version; earlier versions keep it. */
export async function deleteExample(
  { store }: WithLinks<DatasetStore>,
  request: FastifyRequest,
): Promise<unknown> {
  const id = readExampleId(request);
  await store.write.examples.deleteMany(request.tenantId, [id], "soft");
  return { id };
}

/** `DELETE /examples?example_ids`: deletes the named examples that exist. */
export async function deleteExamples(
  { store }: WithLinks<DatasetStore>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const ids = parseIds(request.query as QueryString, "example_ids");
  disableIdleTimeout(request, reply);
  if (ids === undefined) {
    throw new RequestError(
      422,
      "example_ids is missing: pass example_ids=<id> once for each example to delete",
    );
  }
  return toDeletionJson(await store.write.examples.deleteMany(request.tenantId, ids, "soft"));
}

/** Body of `POST /v1/platform/datasets/examples/delete`. */
export const deletionBody = Type.Object({
  example_ids: Type.Array(Type.String({ maxLength: 64 }), { minItems: 1, maxItems: 10_000 }),
  /** Whether to delete the examples from earlier versions too. */
  hard_delete: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
});

/** `POST /v1/platform/datasets/examples/delete`: deletes the named examples that exist. */
export async function removeExamples(
  { store }: WithLinks<DatasetStore>,
  body: Static<typeof deletionBody>,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): Promise<unknown> {
  disableIdleTimeout(request, reply);
  const ids = body.example_ids.map((id) => parseId(id, "example_ids"));
  const mode = body.hard_delete === true ? "hard" : "soft";
  return toDeletionJson(await store.write.examples.deleteMany(request.tenantId, ids, mode));
}

const toDeletionJson = (ids: readonly string[]) => ({ count: ids.length, example_ids: ids });

/** Returns the example id in the path of a request. */
export const readExampleId = (request: FastifyRequest): string =>
  parseId((request.params as { readonly id: string }).id, "example id");

/** Returns a function that creates the signed URL of an attachment, with the host name of the request. */
export const createAttachmentLinker =
  (links: SignedLinks, request: FastifyRequest) =>
  ({ blob, mimeType }: { readonly blob: number; readonly mimeType: string }): string =>
    links.createUrl(request, { kind: "example", blob, mimeType });

/** Sends a response that is already serialized as JSON. */
export const sendJson = (reply: FastifyReply, json: Buffer): FastifyReply =>
  reply.type("application/json; charset=utf-8").send(json);

/** Sends an example with all of its members. */
export const sendExample = (
  reply: FastifyReply,
  example: Example,
  link: ReturnType<typeof createAttachmentLinker>,
): FastifyReply =>
  sendJson(
    reply,
    Buffer.from(toExampleJson(example, { select: allMembers, createAttachmentUrl: link })),
  );

/**
 * Finds the dataset and version whose examples the request reads.
 *
 * @throws RequestError 404: no such dataset or tag. 422: neither a dataset nor ids are passed.
 */
async function findExampleScope(
  store: DatasetStore,
  request: FastifyRequest,
): Promise<ExampleScope> {
  const { tenantId } = request;
  const query = request.query as QueryString;
  const asOf = readAsOf(query);
  const datasetParameter = firstValue(query, "dataset");
  if (datasetParameter !== undefined && datasetParameter !== "") {
    const datasetId = parseId(datasetParameter, "dataset");
    if ((await store.read.datasets.find(tenantId, datasetId)) === undefined) {
      throw new RequestError(404, "Dataset not found");
    }
    return {
      datasetId,
      versionTime: await findVersionTime(store, { tenantId, id: datasetId }, asOf),
    };
  }
  if (query["id"] === undefined) {
    throw new RequestError(422, "dataset or id is missing: pass one of them to select examples");
  }
  if (asOf?.kind === "tag") {
    throw new RequestError(
      422,
      "as_of is a tag, so pass dataset too: each dataset has its own tags",
    );
  }
  return { datasetId: undefined, versionTime: asOf?.micros ?? null };
}
