import type { FastifyInstance } from "fastify";
import type { Endpoint } from "millrace/model";
import type { Static } from "typebox";
import type { RunDesk } from "../handlers/runs.ts";
import {
  listV2TraceRuns,
  queryV2Runs,
  readV2Run,
  readV2RunUrl,
  shareV2Run,
  unshareV2Run,
  v2RunQueryBody,
} from "../handlers/v2-runs.ts";
import type { V2RunQueryBody } from "../handlers/v2-runs.ts";
import {
  listV2ThreadTraces,
  queryV2Threads,
  readV2ThreadStats,
  v2ThreadQueryBody,
} from "../handlers/v2-threads.ts";
import { route } from "../http/route.ts";

const tag = "runs";

/** What newer clients of LangSmith call beside the first version; our own client does not. */
const v2 = {
  query: { method: "POST", path: "/api/v2/runs/query", action: "query runs" },
  read: { method: "GET", path: "/api/v2/runs/:id", action: "read run" },
  url: { method: "GET", path: "/api/v2/runs/:id/url", action: "read the run's page" },
  share: { method: "POST", path: "/api/v2/runs/:id/share", action: "share run" },
  unshare: { method: "DELETE", path: "/api/v2/runs/:id/share", action: "unshare run" },
  traceRuns: { method: "GET", path: "/api/v2/traces/:id/runs", action: "list a trace's runs" },
  threads: { method: "POST", path: "/api/v2/threads/query", action: "query threads" },
  threadTraces: { method: "GET", path: "/api/v2/threads/:id/traces", action: "list traces" },
  threadStats: { method: "GET", path: "/api/v2/threads/:id/stats", action: "read statistics" },
} as const satisfies Record<string, Endpoint>;

/** The second version of the API, as far as it is served. */
export function addV2Routes(app: FastifyInstance, desk: RunDesk): void {
  app.route<{ Body: V2RunQueryBody }>({
    ...route(v2.query, { tag, summary: "v2: runs by filter, by page.", body: v2RunQueryBody }),
    handler: (request, reply) => queryV2Runs(desk, request, reply),
  });
  app.route({
    ...route(v2.read, { tag, summary: "v2: a run, with the fields that are selected." }),
    handler: (request, reply) => readV2Run(desk, request, reply),
  });
  app.route({
    ...route(v2.url, { tag, summary: "v2: where the run's page is." }),
    handler: (request) => readV2RunUrl(desk, request),
  });
  app.route({
    ...route(v2.share, { tag, summary: "v2: lets anyone who has the token read the run." }),
    handler: (request) => shareV2Run(desk, request),
  });
  app.route({
    ...route(v2.unshare, { tag, summary: "v2: ends the share." }),
    handler: (request, reply) => unshareV2Run(desk, request, reply),
  });
  app.route({
    ...route(v2.traceRuns, { tag, summary: "v2: the runs of a trace." }),
    handler: (request, reply) => listV2TraceRuns(desk, request, reply),
  });
  app.route<{ Body: Static<typeof v2ThreadQueryBody> }>({
    ...route(v2.threads, { tag, summary: "v2: threads by page.", body: v2ThreadQueryBody }),
    handler: (request) => queryV2Threads(desk, request),
  });
  app.route({
    ...route(v2.threadTraces, { tag, summary: "v2: the traces of a thread." }),
    handler: (request, reply) => listV2ThreadTraces(desk, request, reply),
  });
  app.route({
    ...route(v2.threadStats, { tag, summary: "v2: what a thread comes to." }),
    handler: (request) => readV2ThreadStats(desk, request),
  });
}
