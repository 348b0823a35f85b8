import type { Linked } from "../shares/signed-links.ts";
import type { RunStore } from "./run-store.ts";
import type { FastifyInstance } from "fastify";
import { uiEndpoints } from "millrace/model";
import { readTrace, readTraceRun } from "./handlers/trace-handlers.ts";
import { route } from "../http/route.ts";

const tag = "runs";

/** What the page of a trace asks beside the API. */
export function addUiTraceRoutes(app: FastifyInstance, dependencies: Linked<RunStore>): void {
  app.route({
    ...route(uiEndpoints.readTrace, {
      tag,
      summary: "The runs of a trace as columns, without what they hold.",
      query: {
        after: "The id behind which the page begins: next of the page before.",
        since: "The mark of an earlier answer: only what changed since.",
        limit: "At most so many runs, 10,000 where it is left out.",
      },
    }),
    handler: (request) => readTrace(dependencies, request),
  });
  app.route({
    ...route(uiEndpoints.readTraceRun, { tag, summary: "A run without the ids of its children." }),
    handler: (request, reply) => readTraceRun(dependencies, request, reply),
  });
}
