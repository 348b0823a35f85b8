import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static, TSchema } from "typebox";
import { RequestError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";
import { repoTypes } from "./prompt.ts";
import type { PromptLocation } from "./prompt.ts";
import type { PromptStore } from "./prompt-store.ts";
import { toPromptJson } from "./prompt-json.ts";
import { parsePromptQuery } from "./prompt-query.ts";
import { parseIds } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";

const Maybe = <Schema extends TSchema>(schema: Schema) =>
  Type.Optional(Type.Union([schema, Type.Null()]));
const promptMembers = {
  description: Maybe(Type.String()),
  readme: Maybe(Type.String()),
  tags: Maybe(Type.Array(Type.String())),
  is_public: Maybe(Type.Boolean()),
  restricted_mode: Maybe(Type.Boolean()),
};

/** Body of `POST /repos`. Unknown members are ignored. */
export const promptBody = Type.Object({
  ...promptMembers,
  repo_handle: Type.String(),
  repo_type: Maybe(Type.Union(repoTypes.map((type) => Type.Literal(type)))),
  source: Maybe(Type.Union([Type.Literal("internal"), Type.Literal("external")])),
});

/** Body of `PATCH /repos/{owner}/{repo}`. Null leaves a field unchanged. A handle can't be changed. */
export const promptPatchBody = Type.Object(
  { ...promptMembers, is_archived: Maybe(Type.Boolean()) },
  { additionalProperties: false },
);

/** Body of `POST /likes/{owner}/{repo}`. */
export const likeBody = Type.Object({ like: Type.Boolean() });

export type PromptBody = Static<typeof promptBody>;
export type PromptPatchBody = Static<typeof promptPatchBody>;

/** Handles `GET /repos`. */
export async function listPrompts(store: PromptStore, request: FastifyRequest): Promise<unknown> {
  const query = parsePromptQuery(request.query as QueryString);
  const { prompts, total } = await store.read.prompts.list(request.tenantId, query);
  return { repos: prompts.map(toPromptJson), total };
}

/** Handles `GET /repos/{owner}/{repo}`. */
export async function readPrompt(store: PromptStore, request: FastifyRequest): Promise<unknown> {
  const prompt = await store.read.prompts.find(request.tenantId, readPromptLocation(request));
  if (prompt === undefined) {
    throw new RequestError(404, "Prompt not found");
  }
  return { repo: toPromptJson(prompt) };
}

/** Handles `POST /repos`. */
export async function createPrompt(
  store: PromptStore,
  { body, tenantId }: FastifyRequest<{ Body: PromptBody }>,
): Promise<unknown> {
  const prompt = await store.write.prompts.create(tenantId, {
    handle: body.repo_handle,
    repoType: body.repo_type ?? "prompt",
    isPublic: body.is_public ?? false,
    fields: {
      description: body.description ?? null,
      readme: body.readme ?? null,
      tags: body.tags ?? [],
      restrictedMode: body.restricted_mode ?? false,
      source: body.source ?? null,
    },
  });
  return { repo: toPromptJson(prompt) };
}

/** Handles `PATCH /repos/{owner}/{repo}`. */
export async function updatePrompt(
  store: PromptStore,
  request: FastifyRequest<{ Body: PromptPatchBody }>,
): Promise<unknown> {
  const { body, tenantId } = request;
  const prompt = await store.write.prompts.update(tenantId, readPromptLocation(request), {
    isPublic: body.is_public ?? null,
    isArchived: body.is_archived ?? null,
    description: body.description ?? null,
    readme: body.readme ?? null,
    tags: body.tags ?? null,
    restrictedMode: body.restricted_mode ?? null,
  });
  return { repo: toPromptJson(prompt) };
}

/** `DELETE /repos/{owner}/{repo}`: deletes the prompt with its commits. */
export async function deletePrompt(store: PromptStore, request: FastifyRequest): Promise<unknown> {
  return { id: await store.write.prompts.delete(request.tenantId, readPromptLocation(request)) };
}

/** `DELETE /repos?repo_ids`: deletes the prompts that exist. Responds with status 207 if some do not. */
export async function deletePrompts(
  store: PromptStore,
  { query, tenantId }: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const ids = parseIds(query as QueryString, "repo_ids") ?? [];
  if (ids.length === 0 || ids.length > serverLimits.promptsMax) {
    throw new RequestError(422, `repo_ids must contain 1 to ${serverLimits.promptsMax} ids`);
  }
  const deleted = await store.write.prompts.deleteMany(tenantId, ids);
  const deletedIds = new Set(deleted);
  const failed = ids
    .filter((id) => !deletedIds.has(id))
    .map((id) => ({ id, detail: "Prompt not found" }));
  return reply.code(failed.length === 0 ? 200 : 207).send({ deleted, failed });
}

/** Handles `POST /likes/{owner}/{repo}`. */
export async function likePrompt(
  store: PromptStore,
  request: FastifyRequest<{ Body: Static<typeof likeBody> }>,
): Promise<unknown> {
  const { body, tenantId } = request;
  const location = readPromptLocation(request);
  return { likes: await store.write.prompts.like(tenantId, location, body.like) };
}

export const readPromptLocation = ({ params }: Pick<FastifyRequest, "params">): PromptLocation =>
  params as PromptLocation;
