import { scopeToRequest } from "../http/request-scope.ts";
import { readAttachment } from "./handlers/attachment-handlers.ts";
import type { FileStore } from "./handlers/attachment-handlers.ts";
import type { WithLinks } from "../http/signed-links.ts";
import type { RunStore } from "./run-store.ts";
import type { FastifyInstance } from "fastify";
import { endpoints } from "millrace/model";
import { createBatch, createMultipart, createRun, updateRun } from "./handlers/ingest-handlers.ts";
import type { IngestDependencies } from "./handlers/ingest-handlers.ts";
import { runQueryBody } from "./handlers/run-query-body.ts";
import type { RunQueryBody } from "./handlers/run-query-body.ts";
import {
  queryRuns,
  readRun,
  readRunShare,
  readRunStats,
  readSharedRun,
  shareRun,
  unshareRun,
} from "./handlers/run-handlers.ts";
import { linkEndpoints } from "../http/link-endpoints.ts";
import { route } from "../http/route.ts";
import { Bytes } from "../http/schema-parts.ts";
import { ContentCache } from "./ingest/content-cache.ts";
import { Type } from "typebox";
import {
  duplicateRunSchema,
  ingestResultSchema,
  maybeRunShareSchema,
  refusedIngestSchema,
  runBatchSchema,
  runPageSchema,
  runPartsSchema,
  runSchema,
  runShareSchema,
  runStatisticsSchema,
  sentRunPatchSchema,
  sentRunSchema,
} from "./run-schemas.ts";

const apiTag = "runs";

/** Adds the routes that ingest runs. The handlers read the request body themselves, while it arrives. */
export function addIngestRoutes(app: FastifyInstance, dependencies: IngestDependencies): void {
  const content = new ContentCache();
  app.route({
    ...route(endpoints.createRun, {
      tag: apiTag,
      summary: "Creates a run.",
      bodyContents: { "application/json": sentRunSchema },
      otherResponses: { 202: ingestResultSchema, 409: duplicateRunSchema },
      writer: "json",
    }),
    handler: (request, reply) => createRun(dependencies, request, reply),
  });
  app.route({
    ...route(endpoints.updateRun, {
      tag: apiTag,
      summary: "Updates a run.",
      bodyContents: { "application/json": sentRunPatchSchema },
      otherResponses: { 202: ingestResultSchema, 409: duplicateRunSchema },
      writer: "json",
    }),
    handler: (request, reply) => updateRun(dependencies, request, reply),
  });
  app.route({
    ...route(endpoints.sendBatch, {
      tag: apiTag,
      summary: "Creates and updates runs, as JSON.",
      bodyContents: { "application/json": runBatchSchema },
      otherResponses: { 202: ingestResultSchema, 422: refusedIngestSchema },
      writer: "json",
    }),
    handler: (request, reply) => createBatch(dependencies, request, reply),
  });
  app.route({
    ...route(endpoints.sendMultipart, {
      tag: apiTag,
      summary: "Creates and updates runs, with large fields, attachments and feedback as parts.",
      bodyContents: { "multipart/form-data": runPartsSchema },
      otherResponses: { 202: ingestResultSchema, 422: refusedIngestSchema },
      writer: "json",
    }),
    handler: (request, reply) =>
      createMultipart({ store: dependencies.store, content }, request, reply),
  });
}

export function addRunRoutes(app: FastifyInstance, dependencies: WithLinks<RunStore>): void {
  const { store } = dependencies;
  app.route({
    ...route(endpoints.readRun, {
      tag: apiTag,
      summary: "Returns a run, merged from all its updates.",
      response: runSchema,
    }),
    handler: (request, reply) => readRun(scopeToRequest(dependencies, request), request, reply),
  });
  app.route<{ Body: RunQueryBody }>({
    ...route(endpoints.queryRuns, {
      tag: apiTag,
      summary: "Returns the runs that match a filter, in pages.",
      body: runQueryBody,
      response: runPageSchema,
    }),
    handler: (request, reply) => queryRuns(scopeToRequest(dependencies, request), request, reply),
  });
  app.route<{ Body: RunQueryBody }>({
    ...route(endpoints.runStats, {
      tag: apiTag,
      summary: "Returns count, error rate, latency and usage of the runs that match a filter.",
      body: runQueryBody,
      response: runStatisticsSchema,
    }),
    handler: (request) => readRunStats(store.forRequest(request), request),
  });
  app.route({
    ...route(endpoints.readRunShare, {
      tag: apiTag,
      summary: "Returns the token of the run's public link, or null if the run is not shared.",
      response: maybeRunShareSchema,
    }),
    handler: (request, reply) => readRunShare(store.forRequest(request), request, reply),
  });
  app.route({
    ...route(endpoints.shareRun, {
      tag: apiTag,
      summary: "Lets anyone who has the token read the run.",
      response: runShareSchema,
    }),
    handler: (request) => shareRun(store.forRequest(request), request),
  });
  app.route({
    ...route(endpoints.unshareRun, {
      tag: apiTag,
      summary: "Stops sharing the run: its public link no longer works.",
      response: Type.Null(),
    }),
    handler: (request, reply) => unshareRun(store.forRequest(request), request, reply),
  });
}

/** Adds the route of shared runs. It needs no access key: the path contains the share token. */
export function addSharedRunRoutes(app: FastifyInstance, dependencies: WithLinks<RunStore>): void {
  app.route({
    ...route(endpoints.readSharedRun, {
      tag: apiTag,
      summary: "Returns a shared run.",
      isPublic: true,
      response: runSchema,
    }),
    handler: (request, reply) =>
      readSharedRun(scopeToRequest(dependencies, request), request, reply),
  });
}

/** Adds the route of attachments. Their URLs are signed, so they need no access key. */
export function addAttachmentRoutes(
  app: FastifyInstance,
  dependencies: WithLinks<FileStore>,
): void {
  app.route({
    ...route(linkEndpoints.readAttachment, {
      tag: apiTag,
      summary:
        "Returns a file of a run or an example, with the content type that it was sent with.",
      query: { token: "The signed token in the URL of the file." },
      response: { contents: { "*/*": Bytes } },
      isPublic: true,
    }),
    handler: (request, reply) =>
      readAttachment(scopeToRequest(dependencies, request), request, reply),
  });
}
