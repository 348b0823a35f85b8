import type { Linked } from "../shares/signed-links.ts";
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

const tag = "experiments";

/** Experiments over one dataset, side by side. */
export function addComparativeRoutes(app: FastifyInstance, store: ExperimentStore): void {
  app.route<{ Body: ComparativeBody }>({
    ...route(endpoints.createComparative, {
      tag,
      summary:
        "Makes a comparison of experiments over one dataset; repeated with the same id and content, it changes nothing.",
      body: comparativeBody,
    }),
    handler: (request) => createComparative(store, request),
  });
  app.route({
    ...route(endpoints.listComparatives, {
      tag,
      summary: "The comparisons of experiments over a dataset, the latest first.",
      query: {
        id: "Ids, any of which it has; may be repeated.",
        name: "Its name.",
        name_contains: "Part of its name, in either case.",
        sort_by: "name or created_at; created_at where it is left out.",
        sort_by_desc: "Whether the last comes first: true or false; true where it is left out.",
        limit: "At most so many, from 1 to 100; 100 where it is left out.",
        offset: "So many are skipped.",
      },
    }),
    handler: (request) => listComparatives(store, request),
  });
  app.route<{ Body: ComparisonBody }>({
    ...route(uiEndpoints.compareExperiments, {
      tag,
      summary: "Experiments joined by example, regressions first.",
      body: comparisonBody,
    }),
    handler: (request) => compareExperiments(store, request),
  });
}

/** Examples with the runs of experiments on them: rows as large as runs are, with links to their files. */
export function addDatasetRunRoutes(
  app: FastifyInstance,
  dependencies: Linked<ExperimentStore>,
): void {
  app.route<{ Body: DatasetRunsBody }>({
    ...route(endpoints.readDatasetRuns, {
      tag: "datasets",
      summary: "Examples, each with the runs of the given sessions on it.",
      body: datasetRunsBody,
    }),
    handler: (request, reply) => readDatasetRuns(dependencies, request, reply),
  });
}
