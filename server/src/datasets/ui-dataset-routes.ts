import { scopeToRequest } from "../http/request-scope.ts";
import type { FastifyInstance } from "fastify";
import { uiEndpoints } from "millrace/model";
import { importExamples, previewDatasetDiff, previewExamples } from "./ui-dataset-handlers.ts";
import { route } from "../http/route.ts";
import type { DatasetStore } from "./dataset-store.ts";
import type { WorkThreads } from "../storage/work-threads.ts";

const tag = "datasets";

/** Dataset routes that the UI uses in addition to the public API. */
export function addUiDatasetRoutes(app: FastifyInstance, store: DatasetStore): void {
  app.route({
    ...route(uiEndpoints.previewExamples, {
      tag,
      summary: "Lists previews of examples, bounded in size.",
    }),
    handler: (request) => previewExamples(store.forRequest(request), request),
  });
  app.route({
    ...route(uiEndpoints.previewDatasetDiff, {
      tag,
      summary: "Compares two versions: counts of differences, and one page of them.",
    }),
    handler: (request) => previewDatasetDiff(store.forRequest(request), request),
  });
}

/**
 * Adds the import route. The framework must not parse its body, because payloads are stored exactly as they were sent.
 */
export function addUiImportRoutes(
  app: FastifyInstance,
  dependencies: { readonly store: DatasetStore; readonly work: WorkThreads },
): void {
  app.route({
    ...route(uiEndpoints.importExamples, {
      tag,
      summary: "Imports the valid rows of a list as examples and returns the rejected ones.",
    }),
    handler: (request, reply) =>
      importExamples(scopeToRequest(dependencies, request), request, reply),
  });
}
