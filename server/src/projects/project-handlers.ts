import { randomUUID } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { RequestError } from "../model/errors.ts";
import { disableIdleTimeout } from "../http/disable-idle-timeout.ts";
import { JsonObject, Maybe, Time } from "../http/schema-parts.ts";
import { parseOptionalTime } from "../model/parse-time.ts";
import type { ProjectChanges } from "./project.ts";
import type { ProjectStore } from "./project-store.ts";
import { toProjectJson } from "./project-json.ts";
import { addStats } from "./project-stats.ts";
import { parseProjectQuery } from "./project-query.ts";
import { parseId, parseIds, parseBoolean } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";

const commonMembers = {
  description: Maybe(Type.String()),
  extra: Maybe(JsonObject),
  end_time: Maybe(Time),
};

/** Body of `POST /sessions`. Unknown members are ignored. */
export const projectBody = Type.Object({
  ...commonMembers,
  name: Type.String({ minLength: 1 }),
  id: Maybe(Type.String()),
  start_time: Maybe(Time),
  reference_dataset_id: Maybe(Type.String()),
});

/** Body of `PATCH /sessions/{id}`. Null leaves a field unchanged. */
export const projectPatchBody = Type.Object({
  ...commonMembers,
  name: Maybe(Type.String({ minLength: 1 })),
});

export type ProjectBody = Static<typeof projectBody>;
export type ProjectPatchBody = Static<typeof projectPatchBody>;

/** Handles `GET /sessions`. */
export async function listProjects(store: ProjectStore, request: FastifyRequest): Promise<unknown> {
  const query = request.query as QueryString;
  const projects = await store.read.projects.list(request.tenantId, parseProjectQuery(query));
  return parseBoolean(query, "include_stats") === true
    ? addStats({ store, tenantId: request.tenantId }, projects)
    : projects.map(toProjectJson);
}

/** Handles `GET /sessions/{id}`. */
export async function readProject(store: ProjectStore, request: FastifyRequest): Promise<unknown> {
  const project = await store.read.projects.find(request.tenantId, readSessionId(request));
  if (project === undefined) {
    throw new RequestError(404, "Session not found");
  }
  const shouldIncludeStats = parseBoolean(request.query as QueryString, "include_stats") === true;
  return shouldIncludeStats
    ? (await addStats({ store, tenantId: request.tenantId }, [project]))[0]
    : toProjectJson(project);
}

/** Handles `POST /sessions?upsert`. */
export async function createProject(
  store: ProjectStore,
  body: ProjectBody,
  request: FastifyRequest,
): Promise<unknown> {
  const { id, reference_dataset_id: reference } = body;
  const referenceDatasetId =
    reference === undefined || reference === null
      ? null
      : parseId(reference, "reference_dataset_id");
  if (
    referenceDatasetId !== null &&
    (await store.read.datasets.find(request.tenantId, referenceDatasetId)) === undefined
  ) {
    throw new RequestError(404, `Reference dataset not found: ${referenceDatasetId}`);
  }
  const project = await store.write.projects.create(request.tenantId, {
    ...toChanges(body),
    name: body.name,
    id: id === undefined || id === null ? randomUUID() : parseId(id, "id"),
    startMicros: parseOptionalTime(body.start_time, "start_time") ?? Date.now() * 1_000,
    referenceDatasetId,
    upsert: parseBoolean(request.query as QueryString, "upsert") ?? false,
  });
  return toProjectJson(project);
}

/** Handles `PATCH /sessions/{id}`. */
export async function updateProject(
  store: ProjectStore,
  body: ProjectPatchBody,
  request: FastifyRequest,
): Promise<unknown> {
  return toProjectJson(
    await store.write.projects.update(request.tenantId, readSessionId(request), toChanges(body)),
  );
}

/** `DELETE /sessions/{id}`: deletes a project with its runs. */
export async function deleteProject(
  store: ProjectStore,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const id = readSessionId(request);
  disableIdleTimeout(request, reply);
  await store.write.projects.delete(request.tenantId, id);
  return { id };
}

/** `DELETE /sessions?session_ids`: deletes projects with their runs: all of them, or none if one does not exist. */
export async function deleteProjects(
  store: ProjectStore,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  disableIdleTimeout(request, reply);
  const ids = parseIds(request.query as QueryString, "session_ids") ?? [];
  await store.write.projects.deleteMany(request.tenantId, ids);
  return { session_ids: ids };
}

const readSessionId = (request: FastifyRequest): string =>
  parseId((request.params as { readonly id: string }).id, "session id");

const toChanges = (body: ProjectPatchBody): ProjectChanges => ({
  name: body.name ?? null,
  description: body.description ?? null,
  extra: body.extra ?? null,
  endMicros: parseOptionalTime(body.end_time, "end_time"),
});
