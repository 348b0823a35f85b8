import { scopeToRequest } from "../http/request-scope.ts";
import type { WithLinks } from "../http/signed-links.ts";
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
  readV2AllThreadsStats,
  readV2ThreadStats,
  v2ThreadQueryBody,
  v2ThreadsStatsBody,
} from "./v2-threads.ts";
import { queryV2Traces, v2TraceQueryBody } from "./v2-traces.ts";
import { route } from "../http/route.ts";
import { v2Endpoints } from "../http/v2-endpoints.ts";
import {
  maybeV2ShareSchema,
  v2DatasetPageSchema,
  v2ExperimentRunPageSchema,
  v2ProjectPageSchema,
  v2RunPageSchema,
  v2RunSchema,
  v2RunUrlSchema,
  v2ShareSchema,
  v2ThreadPageSchema,
  v2ThreadStatisticsSchema,
  v2ThreadTracesSchema,
  v2AllThreadsStatisticsSchema,
  v2TracePageSchema,
  v2TraceRunsSchema,
} from "./v2-schemas.ts";

const apiTag = "runs";

/** Adds the routes of version 2 of the API, as far as this server supports them. */
export function addV2Routes(app: FastifyInstance, dependencies: WithLinks<Store>): void {
  app.route<{ Body: V2RunQueryBody }>({
    ...route(v2Endpoints.queryV2Runs, {
      tag: apiTag,
      summary: "Version 2: queries runs with filters, by page.",
      body: v2RunQueryBody,
      response: v2RunPageSchema,
    }),
    handler: (request, reply) => queryV2Runs(scopeToRequest(dependencies, request), request, reply),
  });
  app.route({
    ...route(v2Endpoints.readV2Run, {
      tag: apiTag,
      summary: "Version 2: reads a run with the selected fields.",
      response: v2RunSchema,
    }),
    handler: (request, reply) => readV2Run(scopeToRequest(dependencies, request), request, reply),
  });
  app.route({
    ...route(v2Endpoints.readV2RunUrl, {
      tag: apiTag,
      summary: "Version 2: reads the URL of the run in the UI.",
      response: v2RunUrlSchema,
    }),
    handler: (request) => readV2RunUrl(scopeToRequest(dependencies, request), request),
  });
  app.route<{ Body: Static<typeof v2ShareBody> }>({
    ...route(v2Endpoints.shareV2Run, {
      tag: apiTag,
      summary:
        "Version 2: shares the run's trace: anyone who has the token can read all of its runs.",
      body: v2ShareBody,
      response: v2ShareSchema,
    }),
    handler: (request) => shareV2Run(scopeToRequest(dependencies, request), request),
  });
  app.route({
    ...route(v2Endpoints.unshareV2Run, {
      tag: apiTag,
      summary: "Version 2: stops sharing the run's trace.",
      otherResponses: { 204: null },
    }),
    handler: (request, reply) =>
      unshareV2Run(scopeToRequest(dependencies, request), request, reply),
  });
  app.route<{ Body: Static<typeof v2ThreadShareBody> }>({
    ...route(v2Endpoints.shareV2Thread, {
      tag: apiTag,
      summary:
        "Version 2: shares a thread: anyone who has the token can read all runs of its traces.",
      body: v2ThreadShareBody,
      response: v2ShareSchema,
    }),
    handler: (request) => shareV2Thread(scopeToRequest(dependencies, request), request),
  });
  app.route({
    ...route(v2Endpoints.readV2ThreadShare, {
      tag: apiTag,
      summary: "Version 2: reads the share of a thread.",
      response: maybeV2ShareSchema,
    }),
    handler: (request) => readV2ThreadShare(scopeToRequest(dependencies, request), request),
  });
  app.route({
    ...route(v2Endpoints.unshareV2Thread, {
      tag: apiTag,
      summary: "Version 2: stops sharing a thread.",
      otherResponses: { 204: null },
    }),
    handler: (request, reply) =>
      unshareV2Thread(scopeToRequest(dependencies, request), request, reply),
  });
  app.route({
    ...route(v2Endpoints.listV2TraceRuns, {
      tag: apiTag,
      summary: "Version 2: lists the runs of a trace.",
      response: v2TraceRunsSchema,
    }),
    handler: (request, reply) =>
      listV2TraceRuns(scopeToRequest(dependencies, request), request, reply),
  });
  app.route<{ Body: Static<typeof v2ThreadQueryBody> }>({
    ...route(v2Endpoints.queryV2Threads, {
      tag: apiTag,
      summary: "Version 2: queries threads, by page.",
      body: v2ThreadQueryBody,
      response: v2ThreadPageSchema,
    }),
    handler: (request, reply) =>
      queryV2Threads(scopeToRequest(dependencies, request), request, reply),
  });
  app.route({
    ...route(v2Endpoints.listV2ThreadTraces, {
      tag: apiTag,
      summary: "Version 2: lists the traces of a thread.",
      response: v2ThreadTracesSchema,
      writer: "json",
    }),
    handler: (request, reply) =>
      listV2ThreadTraces(scopeToRequest(dependencies, request), request, reply),
  });
  app.route({
    ...route(v2Endpoints.readV2ThreadStats, {
      tag: apiTag,
      summary: "Version 2: reads statistics of a thread.",
      response: v2ThreadStatisticsSchema,
      writer: "json",
    }),
    handler: (request) => readV2ThreadStats(scopeToRequest(dependencies, request), request),
  });
  app.route<{ Body: Static<typeof v2TraceQueryBody> }>({
    ...route(v2Endpoints.queryV2Traces, {
      tag: apiTag,
      summary: "Version 2: queries traces, by page.",
      body: v2TraceQueryBody,
      response: v2TracePageSchema,
    }),
    handler: (request, reply) =>
      queryV2Traces(scopeToRequest(dependencies, request), request, reply),
  });
  app.route<{ Body: Static<typeof v2ThreadsStatsBody> }>({
    ...route(v2Endpoints.readV2ThreadsStats, {
      tag: apiTag,
      summary: "Version 2: reads statistics of the threads of a project.",
      body: v2ThreadsStatsBody,
      response: v2AllThreadsStatisticsSchema,
      writer: "json",
    }),
    handler: (request) => readV2AllThreadsStats(scopeToRequest(dependencies, request), request),
  });
  app.route({
    ...route(v2Endpoints.listV2Projects, {
      tag: "projects",
      summary: "Version 2: lists projects and experiments, by page.",
      response: v2ProjectPageSchema,
    }),
    handler: (request) => listV2Projects(dependencies.store.forRequest(request), request),
  });
  app.route({
    ...route(v2Endpoints.listV2Datasets, {
      tag: "datasets",
      summary: "Version 2: lists datasets, by page.",
      response: v2DatasetPageSchema,
    }),
    handler: (request) => listV2Datasets(dependencies.store.forRequest(request), request),
  });
  app.route<{ Body: Static<typeof v2ExperimentRunsBody> }>({
    ...route(v2Endpoints.queryV2ExperimentRuns, {
      tag: "experiments",
      summary: "Version 2: lists examples, by page, each with the runs of experiments on it.",
      body: v2ExperimentRunsBody,
      response: v2ExperimentRunPageSchema,
    }),
    handler: (request, reply) =>
      queryV2ExperimentRuns(scopeToRequest(dependencies, request), request, reply),
  });
  for (const [url, feature] of Object.entries(hostedFeatures)) {
    app.route({
      method: ["GET", "POST", "PATCH", "PUT", "DELETE"],
      url,
      schema: { hide: true },
      handler: async () => {
        throw new RequestError(
          501,
          `${feature} of the hosted service only and not supported by this server`,
        );
      },
    });
  }
}

/** Features that only the hosted service has, by URL. Each value is the beginning of the error message. */
const hostedFeatures: Readonly<Record<string, string>> = {
  "/api/v2/sandboxes/*": "Sandboxes are a feature",
  "/v2/sandboxes/*": "Sandboxes are a feature",
  "/v2/sql/query": "SQL queries are a feature",
};

/** Adds the routes that need a share token but no API key. */
export function addSharedV2Routes(app: FastifyInstance, dependencies: WithLinks<Store>): void {
  app.route({
    ...route(v2Endpoints.readV2PublicRun, {
      tag: apiTag,
      summary: "Version 2: reads one of the runs that a share token gives access to.",
      isPublic: true,
      response: v2RunSchema,
    }),
    handler: (request, reply) =>
      readV2PublicRun(scopeToRequest(dependencies, request), request, reply),
  });
  app.route<{ Body: Static<typeof v2PublicQueryBody> }>({
    ...route(v2Endpoints.queryV2PublicRuns, {
      tag: apiTag,
      summary: "Version 2: queries the runs that a share token gives access to, by start time.",
      body: v2PublicQueryBody,
      isPublic: true,
      response: v2RunPageSchema,
    }),
    handler: (request, reply) =>
      queryV2PublicRuns(scopeToRequest(dependencies, request), request, reply),
  });
}
