import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { RequestError } from "../model/errors.ts";
import { removeModel } from "./remove-model.ts";
import { serverLimits } from "../model/options.ts";
import type { PromptStore } from "./prompt-store.ts";
import { toCommitJson } from "./prompt-json.ts";
import { parseCommitQuery } from "./prompt-query.ts";
import { readPromptLocation } from "./prompt-handlers.ts";
import { parseBoolean } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";

/** Body of `POST /commits/{owner}/{repo}`. Unknown members are ignored. */
export const commitBody = Type.Object({
  manifest: Type.Record(Type.String(), Type.Unknown()),
  parent_commit: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  description: Type.Optional(Type.Union([Type.String(), Type.Null()])),
});

/** Handles `GET /commits/{owner}/{repo}`. */
export async function listCommits(store: PromptStore, request: FastifyRequest): Promise<unknown> {
  const location = readPromptLocation(request);
  const query = parseCommitQuery(request.query as QueryString);
  const { commits, total } = await store.read.prompts.listCommits(
    request.tenantId,
    location,
    query,
  );
  return { commits: commits.map((commit) => toCommitJson(commit, location)), total };
}

/**
 * `POST /commits/{owner}/{repo}`: commits a manifest. The response contains the hash twice, because older and newer
 * clients read it from different members.
 */
export async function createCommit(
  store: PromptStore,
  request: FastifyRequest<{ Body: Static<typeof commitBody> }>,
  reply: FastifyReply,
): Promise<unknown> {
  const { body, tenantId } = request;
  const location = readPromptLocation(request);
  assertDepth(body.manifest);
  const commit = await store.write.prompts.commit(tenantId, location, {
    manifest: JSON.stringify(body.manifest),
    parent: body.parent_commit ?? null,
    description: body.description ?? null,
  });
  return reply.code(201).send({ commit_hash: commit.hash, commit: toCommitJson(commit, location) });
}

/**
 * `GET /commits/{owner}/{repo}/{commit}`: returns the manifest as it was committed. If the prompt was saved together
 * with a model, the model is left out, unless the client passes `include_model`.
 */
export async function readCommit(
  store: PromptStore,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { commit: name } = request.params as { readonly commit: string };
  const query = request.query as QueryString;
  const isView = parseBoolean(query, "is_view") === true;
  const includesModel = parseBoolean(query, "include_model") === true;
  const location = readPromptLocation(request);
  const { commit, manifest } = await store.read.prompts.pull(request.tenantId, location, name);
  // The count is only a statistic: the response does not wait for it, and succeeds even if counting fails.
  void store.write.prompts.count(commit.id, isView ? "views" : "downloads").catch(() => undefined);
  const otherMembers = JSON.stringify({
    commit_hash: commit.hash,
    ...(commit.description === null ? {} : { description: commit.description }),
    is_draft: false,
    examples: [],
  });
  return reply
    .type("application/json; charset=utf-8")
    .send(
      `{"manifest":${includesModel ? manifest : removeModel(manifest)},${otherMembers.slice(1)}`,
    );
}

/**
 * Checks the depth of a manifest, because code that later walks over it is recursive.
 *
 * @throws RequestError 422: it is nested too deeply.
 */
function assertDepth(manifest: object): void {
  let level: readonly object[] = [manifest];
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > serverLimits.manifestDepth) {
      throw new RequestError(422, `manifest has more than ${serverLimits.manifestDepth} levels`);
    }
    level = level.flatMap((value) => Object.values(value).filter(isObject));
  }
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
