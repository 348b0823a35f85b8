import type { FastifyInstance } from "fastify";
import { endpoints } from "millrace/model";
import type { Endpoint } from "millrace/model";
import { readInfo, readRoot } from "../handlers/info.ts";
import { createBatch, createMultipart, createRun, updateRun } from "../handlers/ingest.ts";
import {
  createProject,
  deleteProject,
  listProjects,
  projectBody,
  projectPatchBody,
  readProject,
  updateProject,
} from "../handlers/projects.ts";
import type { ProjectBody, ProjectPatchBody } from "../handlers/projects.ts";
import { runQueryBody } from "../handlers/run-query.ts";
import type { RunQueryBody } from "../handlers/run-query.ts";
import {
  queryRuns,
  readRun,
  readRunShare,
  readRunStats,
  readSharedRun,
  shareRun,
  unshareRun,
} from "../handlers/runs.ts";
import { readSettings } from "../handlers/settings.ts";
import type { Store } from "../store/run-store.ts";

const route = ({ method, path }: Endpoint) => ({ method, url: path });

/** What needs no key. */
export function addOpenRoutes(app: FastifyInstance, store: Store): void {
  app.get("/", async ({ protocol, host }) => readRoot(`${protocol}://${host}`));
  app.route({ ...route(endpoints.readInfo), handler: async () => readInfo() });
  app.route({
    ...route(endpoints.readSharedRun),
    handler: (request, reply) => readSharedRun(store, request, reply),
  });
}

/** What takes runs in. */
export function addIngestRoutes(app: FastifyInstance, store: Store): void {
  app.route({
    ...route(endpoints.createRun),
    handler: (request, reply) => createRun(store, request, reply),
  });
  app.route({
    ...route(endpoints.updateRun),
    handler: (request, reply) => updateRun(store, request, reply),
  });
  app.route({
    ...route(endpoints.sendBatch),
    handler: (request, reply) => createBatch(store, request, reply),
  });
  app.route({
    ...route(endpoints.sendMultipart),
    handler: (request, reply) => createMultipart(store, request, reply),
  });
}

/** What gives runs back. */
export function addRoutes(app: FastifyInstance, store: Store): void {
  app.route({
    ...route(endpoints.readRun),
    handler: (request, reply) => readRun(store, request, reply),
  });
  app.route<{ Body: RunQueryBody }>({
    ...route(endpoints.queryRuns),
    schema: { body: runQueryBody },
    handler: ({ body }, reply) => queryRuns(store, body, reply),
  });
  app.route<{ Body: RunQueryBody }>({
    ...route(endpoints.runStats),
    schema: { body: runQueryBody },
    handler: ({ body }) => readRunStats(store, body),
  });
  app.route({
    ...route(endpoints.readRunShare),
    handler: (request, reply) => readRunShare(store, request, reply),
  });
  app.route({ ...route(endpoints.shareRun), handler: (request) => shareRun(store, request) });
  app.route({
    ...route(endpoints.unshareRun),
    handler: (request, reply) => unshareRun(store, request, reply),
  });
}

/** The workspace, and the projects in it. */
export function addProjectRoutes(app: FastifyInstance, store: Store): void {
  app.route({ ...route(endpoints.readSettings), handler: async () => readSettings(store) });
  app.route({
    ...route(endpoints.listProjects),
    handler: (request) => listProjects(store, request),
  });
  app.route({ ...route(endpoints.readProject), handler: (request) => readProject(store, request) });
  app.route<{ Body: ProjectBody }>({
    ...route(endpoints.createProject),
    schema: { body: projectBody },
    handler: (request) => createProject(store, request.body, request),
  });
  app.route<{ Body: ProjectPatchBody }>({
    ...route(endpoints.updateProject),
    schema: { body: projectPatchBody },
    handler: (request) => updateProject(store, request.body, request),
  });
  app.route({
    ...route(endpoints.deleteProject),
    handler: (request) => deleteProject(store, request),
  });
}
