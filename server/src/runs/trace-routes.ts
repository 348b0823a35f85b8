import { scopeToRequest } from "../http/request-scope.ts";
import type { WithLinks } from "../http/signed-links.ts";
import type { RunStore } from "./run-store.ts";
import type { FastifyInstance } from "fastify";
import { uiEndpoints } from "millrace/model";
import { readTrace, readTraceRun } from "./handlers/trace-handlers.ts";
import { route } from "../http/route.ts";

const apiTag = "runs";

/** The query parameters of a response with the runs of a trace. */
export const traceParameters = {
  since: "The `mark` of an earlier response: returns only runs that changed since.",
  limit: "Maximum number of runs in one line; 10,000 by default.",
} as const;

/** Adds the routes of the UI's trace page. */
export function addUiTraceRoutes(app: FastifyInstance, dependencies: WithLinks<RunStore>): void {
  app.route({
    ...route(uiEndpoints.readTrace, {
      tag: apiTag,
      summary: "Returns the runs of a trace as columns, without payloads: lines of JSON.",
      query: traceParameters,
    }),
    handler: (request, reply) => readTrace(scopeToRequest(dependencies, request), request, reply),
  });
  app.route({
    ...route(uiEndpoints.readTraceRun, {
      tag: apiTag,
      summary: "Returns a run without the ids of its descendants.",
    }),
    handler: (request, reply) =>
      readTraceRun(scopeToRequest(dependencies, request), request, reply),
  });
}
