import type { FastifyInstance } from "fastify";
import { uiEndpoints } from "millrace/model";
import { route } from "../http/route.ts";
import { runExportBody } from "./export-runs.ts";
import type { RunExportBody, RunExports } from "./export-runs.ts";

const apiTag = "runs";

/** Adds the route that starts an export. */
export function addUiRunExportRoute(app: FastifyInstance, exports: RunExports): void {
  app.route<{ Body: RunExportBody }>({
    ...route(uiEndpoints.exportRuns, {
      tag: apiTag,
      summary:
        "Creates a job that exports runs, and returns the path from which their file can be downloaded.",
      body: runExportBody,
    }),
    handler: (request) => exports.prepare(request),
  });
}

/** Adds the route that downloads an export. It needs no access key: the path contains a secret token. */
export function addUiRunDownloadRoute(app: FastifyInstance, exports: RunExports): void {
  app.route({
    ...route(uiEndpoints.fetchRunExport, {
      tag: apiTag,
      summary: "Downloads an export of runs.",
      isPublic: true,
    }),
    // The path works only once, and a HEAD request must not use it up.
    exposeHeadRoute: false,
    handler: async (request, reply) => exports.send(request, reply),
  });
}
