import { Type } from "typebox";
import type { Static } from "typebox";
import {
  AnyObject,
  Anything,
  Count,
  Flag,
  Id,
  IdOrNull,
  IsoTime,
  List,
  Nothing,
  OneOf,
  Text,
  TextOrNull,
} from "../http/schema-parts.ts";
import { repoTypes } from "./prompt.ts";

const promptSchema = Type.Object(
  {
    id: Id,
    tenant_id: Id,
    repo_handle: Text,
    owner: TextOrNull,
    full_name: Text,
    description: TextOrNull,
    readme: TextOrNull,
    tags: List(Text),
    repo_type: OneOf(repoTypes),
    source: TextOrNull,
    restricted_mode: Flag,
    is_public: Flag,
    is_archived: Flag,
    created_at: IsoTime,
    updated_at: IsoTime,
    num_likes: Count,
    liked_by_auth_user: Flag,
    num_downloads: Count,
    num_views: Count,
    num_commits: Count,
    last_commit_hash: TextOrNull,
    commit_tags: List(Text),
    original_repo_id: Nothing,
    original_repo_full_name: Nothing,
    upstream_repo_id: Nothing,
    upstream_repo_full_name: Nothing,
    created_by: Nothing,
    latest_commit_manifest: Nothing,
  },
  { title: "Prompt" },
);

export type PromptJson = Static<typeof promptSchema>;
/** The response body of requests that read, create or update a prompt. */
export const onePromptSchema = Type.Object({ repo: promptSchema });
/** The response body of requests that list prompts. */
export const promptPageSchema = Type.Object({ repos: List(promptSchema), total: Count });

/** The prompts that were deleted, and those that do not exist. */
export const deletedPromptsSchema = Type.Object(
  {
    deleted: List(Id),
    failed: List(Type.Object({ id: Id, detail: Text })),
  },
  { title: "DeletedPrompts" },
);

/** The response body after a prompt was liked or unliked: its number of likes. */
export const likesSchema = Type.Object({ likes: Count });

const commitSchema = Type.Object(
  {
    id: Id,
    repo_id: Id,
    owner: Text,
    repo: Text,
    commit_hash: Text,
    parent_id: IdOrNull,
    parent_commit_hash: TextOrNull,
    description: TextOrNull,
    created_at: IsoTime,
    updated_at: IsoTime,
    num_downloads: Count,
    num_views: Count,
    example_run_ids: List(Id),
  },
  { title: "PromptCommit" },
);

export type CommitJson = Static<typeof commitSchema>;
/** The response body of requests that list the commits of a prompt. */
export const commitPageSchema = Type.Object({ commits: List(commitSchema), total: Count });
/** The response body after a commit was created. */
export const createdCommitSchema = Type.Object({
  commit_hash: Text,
  commit: commitSchema,
});

/** A commit with its manifest. The handler copies the manifest as it was committed. */
export const pulledCommitSchema = Type.Object(
  {
    manifest: AnyObject,
    commit_hash: Text,
    description: Type.Optional(Text),
    is_draft: Flag,
    examples: List(Anything),
  },
  { title: "PulledCommit" },
);

/** A tag of a prompt, which refers to one of its commits. */
export const promptTagSchema = Type.Object(
  {
    id: Id,
    repo_id: Id,
    commit_id: Id,
    commit_hash: Text,
    tag_name: Text,
    created_at: IsoTime,
    updated_at: IsoTime,
  },
  { title: "PromptTag" },
);

export type PromptTagJson = Static<typeof promptTagSchema>;
/** The response body of requests that list the tags of a prompt. */
export const promptTagsSchema = List(promptTagSchema);
/** The response body after a tag was deleted. */
export const deletedTagSchema = Type.Object({ tag_name: Text });
