import { ownOwner } from "millrace/model";
import type { Prompt, PromptCommit, PromptLocation, PromptTag } from "./prompt.ts";
import type { CommitJson, PromptJson, PromptTagJson } from "./prompt-schemas.ts";
import { toIso } from "../http/wire-text.ts";

/** Serializes a prompt. Members that this server does not support are null. */
export const toPromptJson = (prompt: Prompt): PromptJson => ({
  id: prompt.id,
  tenant_id: prompt.tenantId,
  repo_handle: prompt.handle,
  owner: prompt.owner,
  full_name: `${prompt.owner ?? ownOwner}/${prompt.handle}`,
  description: prompt.fields.description,
  readme: prompt.fields.readme,
  tags: prompt.fields.tags,
  repo_type: prompt.repoType,
  source: prompt.fields.source,
  restricted_mode: prompt.fields.restrictedMode,
  is_public: prompt.isPublic,
  is_archived: prompt.isArchived,
  created_at: toIso(prompt.createdMicros),
  updated_at: toIso(prompt.updatedMicros),
  num_likes: prompt.likes,
  liked_by_auth_user: prompt.isLiked,
  num_downloads: prompt.downloads,
  num_views: prompt.views,
  num_commits: prompt.commitCount,
  last_commit_hash: prompt.lastHash,
  commit_tags: prompt.commitTags,
  original_repo_id: null,
  original_repo_full_name: null,
  upstream_repo_id: null,
  upstream_repo_full_name: null,
  created_by: null,
  latest_commit_manifest: null,
});

/** Serializes a commit without its manifest. */
export const toCommitJson = (
  commit: PromptCommit,
  { owner, repo }: PromptLocation,
): CommitJson => ({
  id: commit.id,
  repo_id: commit.promptId,
  owner,
  repo,
  commit_hash: commit.hash,
  parent_id: commit.parentId,
  parent_commit_hash: commit.parentHash,
  description: commit.description,
  created_at: toIso(commit.createdMicros),
  updated_at: toIso(commit.createdMicros),
  num_downloads: commit.downloads,
  num_views: commit.views,
  example_run_ids: [],
});

/** Serializes a tag of a prompt. */
export const toTagJson = (tag: PromptTag): PromptTagJson => ({
  id: tag.id,
  repo_id: tag.promptId,
  commit_id: tag.commitId,
  commit_hash: tag.commitHash,
  tag_name: tag.name,
  created_at: toIso(tag.createdMicros),
  updated_at: toIso(tag.updatedMicros),
});
