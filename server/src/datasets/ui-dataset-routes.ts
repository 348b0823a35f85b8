import type { FastifyInstance } from "fastify";
import { uiEndpoints } from "millrace/model";
import { compareExperiments, comparisonBody } from "../experiments/comparison-handlers.ts";
import type { ComparisonBody } from "../experiments/comparison-handlers.ts";
import { importExamples, previewDatasetDiff, previewExamples } from "./ui-dataset-handlers.ts";
import { route } from "../http/route.ts";
import type { Store } from "../store/store.ts";
import type { WorkThreads } from "../tasks/work-threads.ts";

const tag = "datasets";

/** What the pages of datasets ask beside the API. */
export function addUiDatasetRoutes(app: FastifyInstance, store: Store): void {
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
  app.route<{ Body: ComparisonBody }>({
    ...route(uiEndpoints.compareExperiments, {
      tag: "experiments",
      summary: "Experiments joined by example, regressions first.",
      body: comparisonBody,
    }),
    handler: (request) => compareExperiments(store, request),
  });
}

/** The handler reads the body itself: payloads are stored as they came. */
export function addUiImportRoutes(
  app: FastifyInstance,
  desk: { readonly store: Store; readonly work: WorkThreads },
): void {
  app.route({
    ...route(uiEndpoints.importExamples, {
      tag,
      summary: "Takes in the rows that can be taken in.",
    }),
    handler: (request, reply) => importExamples(desk, request, reply),
  });
}
