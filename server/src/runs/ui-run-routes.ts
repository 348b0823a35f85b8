import type { FastifyInstance } from "fastify";
import { uiEndpoints } from "millrace/model";
import { checkFilterText, filterCheckBody, readFilterLanguage } from "../filter/ui-filters.ts";
import { countRuns, listRunSuggestions } from "./handlers/run-count-handlers.ts";
import { countRunFacets, runFacetBody } from "./handlers/run-facet-handlers.ts";
import type { RunFacetBody } from "./handlers/run-facet-handlers.ts";
import { runSearchBody, searchRuns } from "./handlers/run-search-handlers.ts";
import type { RunSearchBody } from "./handlers/run-search-handlers.ts";
import type { Static } from "typebox";
import { route } from "../http/route.ts";
import type { RunStore } from "./run-store.ts";

const apiTag = "runs";

/** Adds the routes of the UI's run list. */
export function addUiRunRoutes(app: FastifyInstance, store: RunStore): void {
  app.route<{ Body: RunSearchBody }>({
    ...route(uiEndpoints.searchRuns, {
      tag: apiTag,
      summary: "Searches the runs of a project, for a limited time.",
      body: runSearchBody,
    }),
    handler: (request, reply) => searchRuns(store.forRequest(request), request, reply),
  });
  app.route<{ Body: RunFacetBody }>({
    ...route(uiEndpoints.countRunFacets, {
      tag: apiTag,
      summary: "Counts the values of a project's runs by property, for a limited time.",
      body: runFacetBody,
    }),
    handler: (request) => countRunFacets(store.forRequest(request), request),
  });
  app.route({
    ...route(uiEndpoints.countRuns, {
      tag: apiTag,
      summary: "Counts runs of a project per interval.",
    }),
    handler: (request) => countRuns(store.forRequest(request), request),
  });
  app.route({
    ...route(uiEndpoints.listRunWords, {
      tag: apiTag,
      summary: "Returns suggestions for filters.",
    }),
    handler: (request) => listRunSuggestions(store.forRequest(request), request),
  });
  app.route({
    ...route(uiEndpoints.readFilterWords, {
      tag: apiTag,
      summary: "Returns the fields and operators of the filter language.",
    }),
    handler: async () => readFilterLanguage(),
  });
  app.route<{ Body: Static<typeof filterCheckBody> }>({
    ...route(uiEndpoints.checkFilter, {
      tag: apiTag,
      summary: "Checks the syntax of a filter.",
      body: filterCheckBody,
    }),
    handler: async (request) => checkFilterText(request),
  });
}
