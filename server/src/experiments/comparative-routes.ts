import { scopeToRequest } from "../http/request-scope.ts";
import type { WithLinks } from "../http/signed-links.ts";
import type { FastifyInstance } from "fastify";
import { endpoints, uiEndpoints } from "millrace/model";
import { compareExperiments, comparisonBody } from "./comparison-handlers.ts";
import type { ComparisonBody } from "./comparison-handlers.ts";
import { datasetRunsBody, readDatasetRuns } from "./dataset-runs.ts";
import type { DatasetRunsBody } from "./dataset-runs.ts";
import { comparativeBody, createComparative, listComparatives } from "./comparative-handlers.ts";
import type { ComparativeBody } from "./comparative-handlers.ts";
import { route } from "../http/route.ts";
import type { ExperimentStore } from "./experiment-store.ts";
import {
  comparativeListSchema,
  comparativeSchema,
  datasetRunsSchema,
} from "./comparative-schemas.ts";

const apiTag = "experiments";

/** Routes that compare experiments on one dataset. */
export function addComparativeRoutes(app: FastifyInstance, store: ExperimentStore): void {
  app.route<{ Body: ComparativeBody }>({
    ...route(endpoints.createComparative, {
      tag: apiTag,
      summary:
        "Creates a comparison of experiments on one dataset. Repeating the request with the same id and content changes nothing.",
      body: comparativeBody,
      response: comparativeSchema,
    }),
    handler: (request) => createComparative(store.forRequest(request), request),
  });
  app.route({
    ...route(endpoints.listComparatives, {
      tag: apiTag,
      summary: "Lists the comparisons of experiments on a dataset, by default the latest first.",
      query: {
        id: "Comparison id; may be repeated.",
        name: "Exact name.",
        name_contains: "Part of the name, case-insensitive.",
        sort_by: "name or created_at (the default).",
        sort_by_desc: "true (the default) to sort in descending order, or false.",
        limit: "Maximum number of items, 1 to 100; default 100.",
        offset: "Number of items to skip.",
      },
      response: comparativeListSchema,
    }),
    handler: (request) => listComparatives(store.forRequest(request), request),
  });
  app.route<{ Body: ComparisonBody }>({
    ...route(uiEndpoints.compareExperiments, {
      tag: apiTag,
      summary: "Compares experiments example by example, by default regressions first.",
      body: comparisonBody,
    }),
    handler: (request) => compareExperiments(store.forRequest(request), request),
  });
}

/**
 * Adds the route that lists examples with the runs of experiments on them. It needs `links` to create the URLs of
 * attachments.
 */
export function addDatasetRunRoutes(
  app: FastifyInstance,
  dependencies: WithLinks<ExperimentStore>,
): void {
  app.route<{ Body: DatasetRunsBody }>({
    ...route(endpoints.readDatasetRuns, {
      tag: "datasets",
      summary: "Lists examples, each with the runs of the given sessions on it.",
      body: datasetRunsBody,
      response: datasetRunsSchema,
    }),
    handler: (request, reply) =>
      readDatasetRuns(scopeToRequest(dependencies, request), request, reply),
  });
}
