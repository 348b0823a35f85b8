import type { Linked, SignedLinks } from "../../shares/signed-links.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { RequestError } from "../../model/errors.ts";
import { holdOpen } from "../../http/hold-open.ts";
import type { Example } from "./example.ts";
import type { DatasetStore } from "../dataset-store.ts";
import { allMembers, toExampleJson, toJsonListInSlices } from "./example-json.ts";
import { findMoment, readAsOf } from "../as-of.ts";
import { parseExampleFilter, parseExampleQuery, parseSelect } from "./example-query.ts";
import type { ExampleScope } from "./example-query.ts";
import { first, parseId, parseIds } from "../../http/query-string.ts";
import type { QueryString } from "../../http/query-string.ts";

/** What the handlers of examples work with. */
/** `GET /examples`. */
export async function listExamples(
  { store, links }: Linked<DatasetStore>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const query = request.query as QueryString;
  const parsed = parseExampleQuery(query, await findScope(store, request));
  const view = { select: parseSelect(query), link: linkFor(links, request) };
  const examples = await store.read.examples.list(request.tenantId, parsed);
  return sendJson(
    reply,
    await toJsonListInSlices(examples, (example) => toExampleJson(example, view)),
  );
}

/** `GET /examples/count`. */
export async function countExamples(
  { store }: Linked<DatasetStore>,
  request: FastifyRequest,
): Promise<number> {
  const scope = await findScope(store, request);
  return store.read.examples.count(
    request.tenantId,
    parseExampleFilter(request.query as QueryString, scope),
  );
}

/** `GET /examples/{id}`. */
export async function readExample(
  { store, links }: Linked<DatasetStore>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { tenantId } = request;
  const query = request.query as QueryString;
  const id = exampleIdOf(request);
  const named = first(query, "dataset");
  const datasetId =
    named === undefined || named === ""
      ? await store.read.examples.findDatasetId(tenantId, id)
      : parseId(named, "dataset");
  const example =
    datasetId === undefined
      ? undefined
      : await store.read.examples.find(
          tenantId,
          id,
          await findMoment(store, { tenantId, id: datasetId }, readAsOf(query)),
        );
  if (example === undefined || example.datasetId !== datasetId) {
    throw new RequestError(404, "Example not found");
  }
  return sendExample(reply, example, linkFor(links, request));
}

/** `DELETE /examples/{id}`: gone from the newest version; earlier ones still have it. */
export async function deleteExample(
  { store }: Linked<DatasetStore>,
  request: FastifyRequest,
): Promise<unknown> {
  const id = exampleIdOf(request);
  await store.write.examples.deleteMany(request.tenantId, [id], "soft");
  return { id };
}

/** `DELETE /examples?example_ids`: those of them that are there. */
export async function deleteExamples(
  { store }: Linked<DatasetStore>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const ids = parseIds(request.query as QueryString, "example_ids");
  holdOpen(request, reply);
  if (ids === undefined) {
    throw new RequestError(
      422,
      "example_ids is missing: name the examples to delete, as example_ids=<id>, once for each",
    );
  }
  return toDeleted(await store.write.examples.deleteMany(request.tenantId, ids, "soft"));
}

/** Body of `POST /v1/platform/datasets/examples/delete`. */
export const removalBody = Type.Object({
  example_ids: Type.Array(Type.String({ maxLength: 64 }), { minItems: 1, maxItems: 10_000 }),
  /** Out of the earlier versions too. */
  hard_delete: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
});

/** `POST /v1/platform/datasets/examples/delete`: those of them that are there. */
export async function removeExamples(
  { store }: Linked<DatasetStore>,
  body: Static<typeof removalBody>,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): Promise<unknown> {
  holdOpen(request, reply);
  const ids = body.example_ids.map((id) => parseId(id, "example_ids"));
  const how = body.hard_delete === true ? "hard" : "soft";
  return toDeleted(await store.write.examples.deleteMany(request.tenantId, ids, how));
}

const toDeleted = (ids: readonly string[]) => ({ count: ids.length, example_ids: ids });

export const exampleIdOf = (request: FastifyRequest): string =>
  parseId((request.params as { readonly id: string }).id, "example id");

/** The addresses of attachments, relative to the address of the request. */
export const linkFor =
  (links: SignedLinks, request: FastifyRequest) =>
  ({ blob, mimeType }: { readonly blob: number; readonly mimeType: string }): string =>
    links.link(request, { kind: "example", blob, mimeType });

/** Sends text that is JSON already. */
export const sendJson = (reply: FastifyReply, json: Buffer): FastifyReply =>
  reply.type("application/json; charset=utf-8").send(json);

/** Sends all of an example. */
export const sendExample = (
  reply: FastifyReply,
  example: Example,
  link: ReturnType<typeof linkFor>,
): FastifyReply =>
  sendJson(reply, Buffer.from(toExampleJson(example, { select: allMembers, link })));

/** @throws RequestError 404: no such dataset or tag. 422: neither dataset nor ids are named. */
async function findScope(store: DatasetStore, request: FastifyRequest): Promise<ExampleScope> {
  const { tenantId } = request;
  const query = request.query as QueryString;
  const asOf = readAsOf(query);
  const named = first(query, "dataset");
  if (named !== undefined && named !== "") {
    const datasetId = parseId(named, "dataset");
    if ((await store.read.datasets.find(tenantId, datasetId)) === undefined) {
      throw new RequestError(404, "Dataset not found");
    }
    return { datasetId, moment: await findMoment(store, { tenantId, id: datasetId }, asOf) };
  }
  if (query["id"] === undefined) {
    throw new RequestError(422, "dataset or id is missing: which examples are meant?");
  }
  if (asOf?.kind === "tag") {
    throw new RequestError(422, "a tag in as_of needs dataset: each dataset has its own");
  }
  return { datasetId: undefined, moment: asOf?.micros ?? null };
}
