import type { FastifyInstance } from "fastify";
import { uiEndpoints } from "millrace/model";
import { checkFilterText, filterCheckBody, readFilterWords } from "../filter/ui-filters.ts";
import { countRuns, listRunWords } from "./handlers/run-count-handlers.ts";
import { runExportBody } from "./handlers/run-export.ts";
import type { RunExportBody, RunExports } from "./handlers/run-export.ts";
import { runSearchBody, searchRuns } from "./handlers/run-search-handlers.ts";
import type { RunSearchBody } from "./handlers/run-search-handlers.ts";
import type { Static } from "typebox";
import { route } from "../http/route.ts";
import type { RunStore } from "./run-store.ts";

const tag = "runs";

/** What the page's list of runs asks. */
export function addUiRunRoutes(app: FastifyInstance, store: RunStore, exports: RunExports): void {
  app.route<{ Body: RunSearchBody }>({
    ...route(uiEndpoints.searchRuns, {
      tag,
      summary: "Runs of a project, as many as are found in a moment.",
      body: runSearchBody,
    }),
    handler: (request) => searchRuns(store, request),
  });
  app.route({
    ...route(uiEndpoints.countRuns, { tag, summary: "How many runs of a project began when." }),
    handler: (request) => countRuns(store, request),
  });
  app.route({
    ...route(uiEndpoints.listRunWords, { tag, summary: "Words that a project's runs have." }),
    handler: (request) => listRunWords(store, request),
  });
  app.route<{ Body: RunExportBody }>({
    ...route(uiEndpoints.exportRuns, {
      tag,
      summary: "Where runs can be fetched as a file.",
      body: runExportBody,
    }),
    handler: async (request) => exports.order(request),
  });
  app.route({
    ...route(uiEndpoints.readFilterWords, { tag, summary: "What filters are written with." }),
    handler: async () => readFilterWords(),
  });
  app.route<{ Body: Static<typeof filterCheckBody> }>({
    ...route(uiEndpoints.checkFilter, {
      tag,
      summary: "Whether a filter is one.",
      body: filterCheckBody,
    }),
    handler: async (request) => checkFilterText(request),
  });
}

/** What needs no key. */
export function addUiRunExportRoute(app: FastifyInstance, exports: RunExports): void {
  app.route({
    ...route(uiEndpoints.fetchRunExport, {
      tag,
      summary: "A file of runs that was asked for.",
      keyless: true,
    }),
    handler: async (request, reply) => exports.send(request, reply),
  });
}
