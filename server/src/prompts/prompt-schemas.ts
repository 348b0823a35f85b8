import { Type } from "typebox";
import type { Static } from "typebox";
import { AnyObject, Id, IsoTime, List, Nullable, OneOf } from "../http/schema-parts.ts";
import { repoTypes } from "./prompt.ts";

const promptSchema = Type.Object(
  {
    id: Id,
    tenant_id: Id,
    repo_handle: Type.String(),
    owner: Nullable(Type.String()),
    full_name: Type.String(),
    description: Nullable(Type.String()),
    readme: Nullable(Type.String()),
    tags: List(Type.String()),
    repo_type: OneOf(repoTypes),
    source: Nullable(Type.String()),
    restricted_mode: Type.Boolean(),
    is_public: Type.Boolean(),
    is_archived: Type.Boolean(),
    created_at: IsoTime,
    updated_at: IsoTime,
    num_likes: Type.Integer(),
    liked_by_auth_user: Type.Boolean(),
    num_downloads: Type.Integer(),
    num_views: Type.Integer(),
    num_commits: Type.Integer(),
    last_commit_hash: Nullable(Type.String()),
    commit_tags: List(Type.String()),
    original_repo_id: Type.Null(),
    original_repo_full_name: Type.Null(),
    upstream_repo_id: Type.Null(),
    upstream_repo_full_name: Type.Null(),
    created_by: Type.Null(),
    latest_commit_manifest: Type.Null(),
  },
  { title: "Prompt" },
);

export type PromptJson = Static<typeof promptSchema>;
export const onePromptSchema = Type.Object({ repo: promptSchema });
export const promptPageSchema = Type.Object({ repos: List(promptSchema), total: Type.Integer() });

/** The prompts that were deleted, and those that do not exist. */
export const deletedPromptsSchema = Type.Object(
  {
    deleted: List(Id),
    failed: List(Type.Object({ id: Id, detail: Type.String() })),
  },
  { title: "DeletedPrompts" },
);

export const likesSchema = Type.Object({ likes: Type.Integer() });

const commitSchema = Type.Object(
  {
    id: Id,
    repo_id: Id,
    owner: Type.String(),
    repo: Type.String(),
    commit_hash: Type.String(),
    parent_id: Nullable(Id),
    parent_commit_hash: Nullable(Type.String()),
    description: Nullable(Type.String()),
    created_at: IsoTime,
    updated_at: IsoTime,
    num_downloads: Type.Integer(),
    num_views: Type.Integer(),
    example_run_ids: List(Id),
  },
  { title: "PromptCommit" },
);

export type CommitJson = Static<typeof commitSchema>;
export const commitPageSchema = Type.Object({ commits: List(commitSchema), total: Type.Integer() });
export const createdCommitSchema = Type.Object({
  commit_hash: Type.String(),
  commit: commitSchema,
});

/** A commit with its manifest, which the handler copies as it was committed. */
export const pulledCommitSchema = Type.Object(
  {
    manifest: AnyObject,
    commit_hash: Type.String(),
    description: Type.Optional(Type.String()),
    is_draft: Type.Boolean(),
    examples: List(Type.Unknown()),
  },
  { title: "PulledCommit" },
);

export const promptTagSchema = Type.Object(
  {
    id: Id,
    repo_id: Id,
    commit_id: Id,
    commit_hash: Type.String(),
    tag_name: Type.String(),
    created_at: IsoTime,
    updated_at: IsoTime,
  },
  { title: "PromptTag" },
);

export type PromptTagJson = Static<typeof promptTagSchema>;
export const promptTagsSchema = List(promptTagSchema);
export const deletedTagSchema = Type.Object({ tag_name: Type.String() });
