import type { FastifyInstance } from "fastify";
import { endpoints } from "millrace/model";
import type { Static } from "typebox";
import {
  diffDatasetVersions,
  listDatasetSplits,
  listDatasetVersions,
  readDatasetVersion,
  splitsBody,
  tagBody,
  tagDatasetVersion,
  updateDatasetSplits,
} from "./dataset-version-handlers.ts";
import { route } from "../http/route.ts";
import type { DatasetStore } from "./dataset-store.ts";
import { asOf, paging } from "../http/query-docs.ts";

const tag = "datasets";

/** Versions of datasets, their tags, and splits. */
export function addDatasetVersionRoutes(app: FastifyInstance, store: DatasetStore): void {
  app.route({
    ...route(endpoints.listDatasetVersions, {
      tag,
      summary: "Versions, the newest first: each write to its examples made one.",
      query: {
        search: "Part of a tag.",
        example: "An example that was written in it.",
        ...paging,
      },
    }),
    handler: (request) => listDatasetVersions(store, request),
  });
  app.route({
    ...route(endpoints.readDatasetVersion, {
      tag,
      summary: "The version of a tag, or the newest at or before a time.",
      query: { as_of: "A time, or a tag.", tag: "A tag." },
    }),
    handler: (request) => readDatasetVersion(store, request),
  });
  app.route({
    ...route(endpoints.diffDatasetVersions, {
      tag,
      summary: "Ids of the examples that differ between two versions.",
      query: { from_version: "A time or a tag.", to_version: "A time or a tag." },
    }),
    handler: (request) => diffDatasetVersions(store, request),
  });
  app.route<{ Body: Static<typeof tagBody> }>({
    ...route(endpoints.tagDatasetVersion, {
      tag,
      summary: "Puts a tag at a version, wherever it was before.",
      body: tagBody,
    }),
    handler: (request) => tagDatasetVersion(store, request.body, request),
  });
  app.route({
    ...route(endpoints.listDatasetSplits, { tag, summary: "Names of its splits.", query: asOf }),
    handler: (request) => listDatasetSplits(store, request),
  });
  app.route<{ Body: Static<typeof splitsBody> }>({
    ...route(endpoints.updateDatasetSplits, {
      tag,
      summary: "Puts examples into a split, or takes them out; ids of those that changed.",
      body: splitsBody,
    }),
    handler: (request, reply) => updateDatasetSplits(store, request.body, { request, reply }),
  });
}
