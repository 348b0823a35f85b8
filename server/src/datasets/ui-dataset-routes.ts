import type { FastifyInstance } from "fastify";
import { uiEndpoints } from "millrace/model";
import { importExamples, previewDatasetDiff, previewExamples } from "./ui-dataset-handlers.ts";
import { route } from "../http/route.ts";
import type { DatasetStore } from "./dataset-store.ts";
import type { WorkThreads } from "../storage/work-threads.ts";

const tag = "datasets";

/** What the pages of datasets ask beside the API. */
export function addUiDatasetRoutes(app: FastifyInstance, store: DatasetStore): void {
  app.route({
    ...route(uiEndpoints.previewExamples, {
      tag,
      summary: "Examples, bounded whatever they hold.",
    }),
    handler: (request) => previewExamples(store, request),
  });
  app.route({
    ...route(uiEndpoints.previewDatasetDiff, {
      tag,
      summary: "Counts, and a page of what differs.",
    }),
    handler: (request) => previewDatasetDiff(store, request),
  });
}

/** The handler reads the body itself: payloads are stored as they came. */
export function addUiImportRoutes(
  app: FastifyInstance,
  dependencies: { readonly store: DatasetStore; readonly work: WorkThreads },
): void {
  app.route({
    ...route(uiEndpoints.importExamples, {
      tag,
      summary: "Takes in the rows that can be taken in.",
    }),
    handler: (request, reply) => importExamples(dependencies, request, reply),
  });
}
