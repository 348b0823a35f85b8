import type { FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import type { PromptStore } from "./prompt-store.ts";
import { toTagJson } from "./prompt-json.ts";
import { readPromptLocation } from "./prompt-handlers.ts";
import { parseId } from "../http/query-string.ts";

/** Body of `PATCH /repos/{owner}/{repo}/tags/{tag}`. */
export const tagPatchBody = Type.Object({ commit_id: Type.String() });

/** Body of `POST /repos/{owner}/{repo}/tags`. */
export const tagBody = Type.Object({ tag_name: Type.String(), commit_id: Type.String() });

/** Handles `GET /repos/{owner}/{repo}/tags`. */
export async function listTags(store: PromptStore, request: FastifyRequest): Promise<unknown> {
  const tags = await store.read.prompts.listTags(request.tenantId, readPromptLocation(request));
  return tags.map(toTagJson);
}

/** Handles `GET /repos/{owner}/{repo}/tags/{tag}`. */
export async function readTag(store: PromptStore, request: FastifyRequest): Promise<unknown> {
  const location = readPromptLocation(request);
  return toTagJson(
    await store.read.prompts.readTag(request.tenantId, location, readTagName(request)),
  );
}

/**
 * `POST /repos/{owner}/{repo}/tags`: tags a commit. Moves the tag if it exists, as a client that pushes again
 * expects.
 */
export function createTag(
  store: PromptStore,
  request: FastifyRequest<{ Body: Static<typeof tagBody> }>,
): Promise<unknown> {
  return writeTag(store, request, { name: request.body.tag_name, mustExist: false });
}

/** Handles `PATCH /repos/{owner}/{repo}/tags/{tag}`. */
export function updateTag(
  store: PromptStore,
  request: FastifyRequest<{ Body: Static<typeof tagPatchBody> }>,
): Promise<unknown> {
  return writeTag(store, request, { name: readTagName(request), mustExist: true });
}

/** `DELETE /repos/{owner}/{repo}/tags/{tag}`: removes a tag. Its commit is not deleted. */
export async function deleteTag(store: PromptStore, request: FastifyRequest): Promise<unknown> {
  const name = readTagName(request);
  await store.write.prompts.deleteTag(request.tenantId, readPromptLocation(request), name);
  return { tag_name: name };
}

async function writeTag(
  store: PromptStore,
  request: FastifyRequest<{ Body: Static<typeof tagPatchBody> }>,
  { name, mustExist }: { readonly name: string; readonly mustExist: boolean },
): Promise<unknown> {
  const commitId = parseId(request.body.commit_id, "commit_id");
  const draft = { name, mustExist, commitId };
  return toTagJson(
    await store.write.prompts.writeTag(request.tenantId, readPromptLocation(request), draft),
  );
}

const readTagName = ({ params }: Pick<FastifyRequest, "params">): string =>
  (params as { readonly tag: string }).tag;
