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
import { versionParameter, pagingParameters } from "../http/query-docs.ts";
import {
  changedExamplesSchema,
  datasetDiffSchema,
  datasetVersionSchema,
  datasetVersionsSchema,
  splitNamesSchema,
} from "./dataset-schemas.ts";

const apiTag = "datasets";

/** Routes of dataset versions, their tags, and splits. */
export function addDatasetVersionRoutes(app: FastifyInstance, store: DatasetStore): void {
  app.route({
    ...route(endpoints.listDatasetVersions, {
      tag: apiTag,
      summary: "Lists versions, newest first; each write to the examples creates one.",
      query: {
        search: "Part of a tag.",
        example: "Id of an example; only versions that changed it.",
        ...pagingParameters,
      },
      response: datasetVersionsSchema,
    }),
    handler: (request) => listDatasetVersions(store.forRequest(request), request),
  });
  app.route({
    ...route(endpoints.readDatasetVersion, {
      tag: apiTag,
      summary: "Reads the version of a tag, or the newest at or before a time.",
      query: { as_of: "A time, or a tag.", tag: "A tag." },
      response: datasetVersionSchema,
    }),
    handler: (request) => readDatasetVersion(store.forRequest(request), request),
  });
  app.route({
    ...route(endpoints.diffDatasetVersions, {
      tag: apiTag,
      summary: "Lists the ids of examples that differ between two versions.",
      query: { from_version: "A time or a tag.", to_version: "A time or a tag." },
      response: datasetDiffSchema,
    }),
    handler: (request) => diffDatasetVersions(store.forRequest(request), request),
  });
  app.route<{ Body: Static<typeof tagBody> }>({
    ...route(endpoints.tagDatasetVersion, {
      tag: apiTag,
      summary: "Tags a version; moves the tag if another version has it.",
      body: tagBody,
      response: datasetVersionSchema,
    }),
    handler: (request) => tagDatasetVersion(store.forRequest(request), request.body, request),
  });
  app.route({
    ...route(endpoints.listDatasetSplits, {
      tag: apiTag,
      summary: "Lists the names of the splits.",
      query: versionParameter,
      response: splitNamesSchema,
    }),
    handler: (request) => listDatasetSplits(store.forRequest(request), request),
  });
  app.route<{ Body: Static<typeof splitsBody> }>({
    ...route(endpoints.updateDatasetSplits, {
      tag: apiTag,
      summary: "Adds examples to a split, or removes them; returns the ids of those that changed.",
      body: splitsBody,
      response: changedExamplesSchema,
    }),
    handler: (request, reply) =>
      updateDatasetSplits(store.forRequest(request), request.body, { request, reply }),
  });
}
