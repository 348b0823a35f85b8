import type { Prompt, PromptCommit, PromptFields, PromptTag, RepoType } from "./prompt.ts";
import type { CommitRow, PromptRow, TagRow } from "./prompt-queries.ts";

export const parsePromptRow = (row: PromptRow): Prompt => ({
  id: row.id,
  tenantId: row.tenant_id,
  owner: row.owner,
  handle: row.handle,
  repoType: row.repo_type as RepoType,
  isPublic: row.is_public === 1,
  isArchived: row.is_archived === 1,
  createdMicros: row.created_us,
  updatedMicros: row.updated_us,
  fields: JSON.parse(row.fields_json) as PromptFields,
  likes: row.likes,
  downloads: row.downloads,
  views: row.views,
  commitCount: row.commits,
  lastHash: row.last_hash,
  isLiked: row.own_likes === 1,
  commitTags: JSON.parse(row.tags_json ?? "[]") as readonly string[],
});

/** Converts a row to a commit of a prompt. */
export const parseCommitRow = (row: CommitRow): PromptCommit => ({
  id: row.id,
  promptId: row.prompt_id,
  hash: row.hash,
  parentId: row.parent_id,
  parentHash: row.parent_hash,
  createdMicros: row.created_us,
  downloads: row.downloads,
  views: row.views,
  description: row.description_json === null ? null : String(JSON.parse(row.description_json)),
});

/** Converts a row to a tag of a prompt. */
export const parseTagRow = (row: TagRow): PromptTag => ({
  id: row.id,
  promptId: row.prompt_id,
  name: row.name,
  commitId: row.commit_id,
  commitHash: row.hash,
  createdMicros: row.created_us,
  updatedMicros: row.updated_us,
});

/** Normalizes a text for searching: in lower case, without characters that a database engine can't store in texts. */
export const toSearchText = (text: string): string =>
  // The conversion to UTF-8 replaces lone surrogates with U+FFFD.
  Buffer.from(text).toString().replaceAll("\0", "\ufffd").toLowerCase();
