import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { RequestError } from "../model/errors.ts";
import { disableIdleTimeout } from "../http/disable-idle-timeout.ts";
import { latestTag } from "./dataset-version.ts";
import type { VersionTime } from "./dataset-version.ts";
import type { DatasetStore } from "./dataset-store.ts";
import { toVersionJson } from "./dataset-json.ts";
import { findVersionTime, parseAsOf, readAsOf } from "./as-of.ts";
import { readDatasetId, findDataset } from "./dataset-handlers.ts";
import { parsePage } from "./dataset-query.ts";
import { firstValue, parseId } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";

/** `GET /datasets/{id}/versions`: lists the versions, the newest first. */
export async function listDatasetVersions(
  store: DatasetStore,
  request: FastifyRequest,
): Promise<unknown> {
  const query = request.query as QueryString;
  const { id } = await findDataset(store, request);
  const [search, example] = [firstValue(query, "search"), firstValue(query, "example")];
  const versions = await store.read.datasets.listVersions(request.tenantId, id, {
    ...(search !== undefined && search !== "" && { search }),
    ...(example !== undefined && example !== "" && { exampleId: parseId(example, "example") }),
    ...parsePage(query),
  });
  return versions.map(toVersionJson);
}

/** `GET /datasets/{id}/version`: returns the version of a tag, or the newest version at or before a time. */
export async function readDatasetVersion(
  store: DatasetStore,
  request: FastifyRequest,
): Promise<unknown> {
  const query = request.query as QueryString;
  const { id } = await findDataset(store, request);
  const asOf = firstValue(query, "as_of") ?? "";
  const tag = firstValue(query, "tag") ?? "";
  if (asOf !== "" && tag !== "") {
    throw new RequestError(422, "pass as_of or tag, not both");
  }
  const version = await store.read.datasets.findVersion(
    request.tenantId,
    id,
    tag === "" ? parseAsOf(asOf || latestTag) : { kind: "tag", tag },
  );
  if (version === undefined) {
    throw new RequestError(404, "Dataset version not found");
  }
  return toVersionJson(version);
}

/**
 * `GET /datasets/{id}/versions/diff`: returns the ids of the examples that differ between two versions. A time or a tag
 * names each version.
 */
export async function diffDatasetVersions(
  store: DatasetStore,
  request: FastifyRequest,
): Promise<unknown> {
  const query = request.query as QueryString;
  const dataset = await findDataset(store, request);
  const readVersionTime = (name: string): Promise<VersionTime> => {
    if ((firstValue(query, name) ?? "") === "") {
      throw new RequestError(422, `${name} is missing: pass a time or a tag`);
    }
    return findVersionTime(store, dataset, readAsOf(query, name));
  };
  // Await one after the other: if both ran at once and both failed, the second rejected promise would be unhandled.
  const from = await readVersionTime("from_version");
  const to = await readVersionTime("to_version");
  const diff = await store.read.datasets.diff(request.tenantId, dataset.id, { from, to });
  return {
    examples_modified: diff.modified,
    examples_added: diff.added,
    examples_removed: diff.removed,
  };
}

/** Body of `PUT /datasets/{id}/tags`. */
export const tagBody = Type.Object({
  as_of: Type.String({ minLength: 1, maxLength: 1_000 }),
  tag: Type.String({ minLength: 1, maxLength: 1_000 }),
});

/** `PUT /datasets/{id}/tags`: moves a tag to a version, or creates it there. */
export async function tagDatasetVersion(
  store: DatasetStore,
  { as_of: asOf, tag }: Static<typeof tagBody>,
  request: FastifyRequest,
): Promise<unknown> {
  if (tag === latestTag) {
    throw new RequestError(422, `${latestTag} is always the newest version; choose another tag`);
  }
  if (parseAsOf(tag).kind === "time") {
    throw new RequestError(
      422,
      `tag can't have the form of a time, because as_of accepts both: ${tag}`,
    );
  }
  const target = { asOf: parseAsOf(asOf), tag };
  return toVersionJson(
    await store.write.datasets.tag(request.tenantId, readDatasetId(request), target),
  );
}

/** Handles `GET /datasets/{id}/splits`. */
export async function listDatasetSplits(
  store: DatasetStore,
  request: FastifyRequest,
): Promise<unknown> {
  const dataset = await findDataset(store, request);
  const versionTime = await findVersionTime(store, dataset, readAsOf(request.query as QueryString));
  return store.read.examples.listSplits(request.tenantId, dataset.id, versionTime);
}

/** Body of `PUT /datasets/{id}/splits`. */
export const splitsBody = Type.Object({
  split_name: Type.String({ minLength: 1, maxLength: 1_000 }),
  examples: Type.Array(Type.String({ maxLength: 64 }), { minItems: 1, maxItems: 100_000 }),
  remove: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
});

/** `PUT /datasets/{id}/splits`: adds examples to a split, or removes them from it. */
export async function updateDatasetSplits(
  store: DatasetStore,
  body: Static<typeof splitsBody>,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): Promise<unknown> {
  disableIdleTimeout(request, reply);
  return store.write.largeExamples.updateSplits(request.tenantId, readDatasetId(request), {
    name: body.split_name,
    exampleIds: body.examples.map((id) => parseId(id, "examples")),
    isRemoval: body.remove === true,
  });
}
