import type { FastifyInstance } from "fastify";
import { uiEndpoints } from "millrace/model";
import { scopeToRequest } from "../http/request-scope.ts";
import { route } from "../http/route.ts";
import type { WithLinks } from "../http/signed-links.ts";
import { traceParameters } from "../runs/trace-routes.ts";
import { readShare, readSharedTrace, readSharedTraceRun } from "./shared-trace-handlers.ts";
import type { SharedTraceStore } from "./shared-trace-handlers.ts";

const apiTag = "runs";

/**
 * Adds the routes that the public page of a shared trace uses. They need no access key: the path contains the share
 * token.
 */
export function addUiSharedTraceRoutes(
  app: FastifyInstance,
  dependencies: WithLinks<SharedTraceStore>,
): void {
  app.route({
    ...route(uiEndpoints.readShare, {
      tag: apiTag,
      summary: "Returns whether a token gives access to a run or to a whole trace.",
      isPublic: true,
    }),
    handler: (request) => readShare(scopeToRequest(dependencies, request), request),
  });
  app.route({
    ...route(uiEndpoints.readSharedTrace, {
      tag: apiTag,
      summary: "Returns the runs of a shared trace as columns, without payloads: lines of JSON.",
      query: traceParameters,
      isPublic: true,
    }),
    handler: (request, reply) =>
      readSharedTrace(scopeToRequest(dependencies, request), request, reply),
  });
  app.route({
    ...route(uiEndpoints.readSharedTraceRun, {
      tag: apiTag,
      summary: "Returns a run of a shared trace.",
      isPublic: true,
    }),
    handler: (request, reply) =>
      readSharedTraceRun(scopeToRequest(dependencies, request), request, reply),
  });
}
