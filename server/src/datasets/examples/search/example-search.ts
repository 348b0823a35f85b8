import type { WithLinks } from "../../../http/signed-links.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { extractSearchTerms } from "./search-terms.ts";
import { disableIdleTimeout } from "../../../http/disable-idle-timeout.ts";
import { serverLimits } from "../../../model/options.ts";
import { latestTag } from "../../dataset-version.ts";
import type { IndexPosition } from "../../dataset.ts";
import type { DatasetStore } from "../../dataset-store.ts";
import { allMembers, toExampleJson } from "../example-json.ts";
import { toListJson } from "../../../runs/serializers/run-json.ts";
import { findDataset } from "../../dataset-handlers.ts";
import { parseCondition } from "../example-query.ts";
import { createAttachmentLinker, sendJson } from "../example-handlers.ts";

/** Body of `POST /datasets/{id}/index`. A missing body means the same as an empty object. */
export const indexBody = Type.Union([
  Type.Object({
    /** Tag of the version to index; with `latest`, the index follows the newest version. */
    tag: Type.Optional(Type.Union([Type.String({ minLength: 1, maxLength: 1_000 }), Type.Null()])),
  }),
  Type.Null(),
]);

/** `POST /datasets/{id}/index`: builds the search index in slices, so that other writes can run in between. */
export async function indexDataset(
  store: DatasetStore,
  request: FastifyRequest<{ Body: Static<typeof indexBody> | undefined }>,
  reply: FastifyReply,
): Promise<unknown> {
  disableIdleTimeout(request, reply);
  const { tenantId, body } = request;
  const { id } = await findDataset(store, request);
  const tag = body?.tag ?? latestTag;
  let position: IndexPosition | undefined = await store.write.datasets.beginIndex(
    tenantId,
    id,
    tag,
  );
  while (position !== undefined) {
    position = await store.write.datasets.extendIndex(tenantId, id, position);
  }
  return { dataset_id: id, tag };
}

/** Body of `POST /datasets/{id}/search`. */
export const searchBody = Type.Object({
  inputs: Type.Record(Type.String(), Type.Unknown()),
  limit: Type.Optional(
    Type.Union([Type.Integer({ minimum: 1, maximum: serverLimits.datasetsMax }), Type.Null()]),
  ),
  filter: Type.Optional(Type.Union([Type.String(), Type.Null()])),
});

/** `POST /datasets/{id}/search`: returns the examples whose inputs match best, the best match first. */
export async function searchDataset(
  { store, links }: WithLinks<DatasetStore>,
  body: Static<typeof searchBody>,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): Promise<FastifyReply> {
  const { id } = await findDataset(store, request);
  const condition = parseCondition(body.filter);
  const examples = await store.read.examples.search(request.tenantId, {
    datasetId: id,
    terms: extractSearchTerms(body.inputs, serverLimits.searchWords),
    limit: body.limit ?? 10,
    ...(condition === undefined ? {} : { condition }),
  });
  const view = { select: allMembers, createAttachmentUrl: createAttachmentLinker(links, request) };
  const items = examples.map((example) => Buffer.from(toExampleJson(example, view)));
  return sendJson(reply, toListJson("examples", items, {}));
}
