import type { Linked } from "../shares/signed-links.ts";
import type { Store } from "../store/store.ts";
import type { FastifyInstance } from "fastify";
import type { Static } from "typebox";
import { RequestError } from "../model/errors.ts";
import {
  listV2TraceRuns,
  queryV2Runs,
  readV2Run,
  readV2RunUrl,
  v2RunQueryBody,
} from "./v2-runs.ts";
import type { V2RunQueryBody } from "./v2-runs.ts";
import { queryV2ExperimentRuns, v2ExperimentRunsBody } from "./v2-experiment-runs.ts";
import { listV2Datasets, listV2Projects } from "./v2-lists.ts";
import { queryV2PublicRuns, readV2PublicRun, v2PublicQueryBody } from "./v2-public.ts";
import {
  readV2ThreadShare,
  shareV2Run,
  shareV2Thread,
  unshareV2Run,
  unshareV2Thread,
  v2ShareBody,
  v2ThreadShareBody,
} from "./v2-shares.ts";
import {
  listV2ThreadTraces,
  queryV2Threads,
  readV2ThreadsStats,
  readV2ThreadStats,
  v2ThreadQueryBody,
  v2ThreadsStatsBody,
} from "./v2-threads.ts";
import { queryV2Traces, v2TraceQueryBody } from "./v2-traces.ts";
import { route } from "../http/route.ts";
import { v2Endpoints } from "../http/v2-endpoints.ts";

const tag = "runs";

/** The second version of the API, as far as it is served. */
export function addV2Routes(app: FastifyInstance, dependencies: Linked<Store>): void {
  app.route<{ Body: V2RunQueryBody }>({
    ...route(v2Endpoints.queryV2Runs, {
      tag,
      summary: "Version 2: runs by filter, by page.",
      body: v2RunQueryBody,
    }),
    handler: (request, reply) => queryV2Runs(dependencies, request, reply),
  });
  app.route({
    ...route(v2Endpoints.readV2Run, {
      tag,
      summary: "Version 2: a run, with the fields that are selected.",
    }),
    handler: (request, reply) => readV2Run(dependencies, request, reply),
  });
  app.route({
    ...route(v2Endpoints.readV2RunUrl, { tag, summary: "Version 2: where the run's page is." }),
    handler: (request) => readV2RunUrl(dependencies, request),
  });
  app.route<{ Body: Static<typeof v2ShareBody> }>({
    ...route(v2Endpoints.shareV2Run, {
      tag,
      summary: "Version 2: lets anyone who has the token read all runs of the run's trace.",
      body: v2ShareBody,
    }),
    handler: (request) => shareV2Run(dependencies, request),
  });
  app.route({
    ...route(v2Endpoints.unshareV2Run, { tag, summary: "Version 2: ends the share of the trace." }),
    handler: (request, reply) => unshareV2Run(dependencies, request, reply),
  });
  app.route<{ Body: Static<typeof v2ThreadShareBody> }>({
    ...route(v2Endpoints.shareV2Thread, {
      tag,
      summary: "Version 2: lets anyone who has the token read all runs of the thread's traces.",
      body: v2ThreadShareBody,
    }),
    handler: (request) => shareV2Thread(dependencies, request),
  });
  app.route({
    ...route(v2Endpoints.readV2ThreadShare, { tag, summary: "Version 2: the thread's share." }),
    handler: (request) => readV2ThreadShare(dependencies, request),
  });
  app.route({
    ...route(v2Endpoints.unshareV2Thread, {
      tag,
      summary: "Version 2: ends the share of the thread.",
    }),
    handler: (request, reply) => unshareV2Thread(dependencies, request, reply),
  });
  app.route({
    ...route(v2Endpoints.listV2TraceRuns, { tag, summary: "Version 2: the runs of a trace." }),
    handler: (request, reply) => listV2TraceRuns(dependencies, request, reply),
  });
  app.route<{ Body: Static<typeof v2ThreadQueryBody> }>({
    ...route(v2Endpoints.queryV2Threads, {
      tag,
      summary: "Version 2: threads by page.",
      body: v2ThreadQueryBody,
    }),
    handler: (request, reply) => queryV2Threads(dependencies, request, reply),
  });
  app.route({
    ...route(v2Endpoints.listV2ThreadTraces, {
      tag,
      summary: "Version 2: the traces of a thread.",
    }),
    handler: (request, reply) => listV2ThreadTraces(dependencies, request, reply),
  });
  app.route({
    ...route(v2Endpoints.readV2ThreadStats, { tag, summary: "Version 2: what a thread comes to." }),
    handler: (request) => readV2ThreadStats(dependencies, request),
  });
  app.route<{ Body: Static<typeof v2TraceQueryBody> }>({
    ...route(v2Endpoints.queryV2Traces, {
      tag,
      summary: "Version 2: traces by page.",
      body: v2TraceQueryBody,
    }),
    handler: (request, reply) => queryV2Traces(dependencies, request, reply),
  });
  app.route<{ Body: Static<typeof v2ThreadsStatsBody> }>({
    ...route(v2Endpoints.readV2ThreadsStats, {
      tag,
      summary: "Version 2: what a project's threads come to.",
      body: v2ThreadsStatsBody,
    }),
    handler: (request) => readV2ThreadsStats(dependencies, request),
  });
  app.route({
    ...route(v2Endpoints.listV2Projects, {
      tag: "projects",
      summary: "Version 2: projects and experiments by page.",
    }),
    handler: (request) => listV2Projects(dependencies.store, request),
  });
  app.route({
    ...route(v2Endpoints.listV2Datasets, {
      tag: "datasets",
      summary: "Version 2: datasets by page.",
    }),
    handler: (request) => listV2Datasets(dependencies.store, request),
  });
  app.route<{ Body: Static<typeof v2ExperimentRunsBody> }>({
    ...route(v2Endpoints.queryV2ExperimentRuns, {
      tag: "experiments",
      summary: "Version 2: examples by page, each with the runs of experiments on it.",
      body: v2ExperimentRunsBody,
    }),
    handler: (request, reply) => queryV2ExperimentRuns(dependencies, request, reply),
  });
  for (const [url, what] of Object.entries(hostedOnly)) {
    app.route({
      method: ["GET", "POST", "PATCH", "PUT", "DELETE"],
      url,
      schema: { hide: true },
      handler: async () => {
        throw new RequestError(501, `${what} of the hosted service only: this server has none`);
      },
    });
  }
}

/** What no local server can answer, by address. */
const hostedOnly: Readonly<Record<string, string>> = {
  "/api/v2/sandboxes/*": "Sandboxes are a part",
  "/v2/sandboxes/*": "Sandboxes are a part",
  "/v2/sql/query": "Queries in SQL are a part",
};

/** Routes for the holders of a token. */
export function addSharedV2Routes(app: FastifyInstance, dependencies: Linked<Store>): void {
  app.route({
    ...route(v2Endpoints.readV2PublicRun, {
      tag,
      summary: "Version 2: one of the runs that a token opens.",
      keyless: true,
    }),
    handler: (request, reply) => readV2PublicRun(dependencies, request, reply),
  });
  app.route<{ Body: Static<typeof v2PublicQueryBody> }>({
    ...route(v2Endpoints.queryV2PublicRuns, {
      tag,
      summary: "Version 2: the runs that a token opens, in the order of their start.",
      body: v2PublicQueryBody,
      keyless: true,
    }),
    handler: (request, reply) => queryV2PublicRuns(dependencies, request, reply),
  });
}
