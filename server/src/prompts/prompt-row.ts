import type { Prompt, PromptCommit, PromptFields, PromptTag, RepoType } from "./prompt.ts";

/** Columns of a prompt `p` of a tenant `t`, in the order of {@link parsePromptRow}; `?1` is the calling tenant. */
export const promptColumns = `p.id, p.tenant_id, t.handle, p.handle, p.repo_type, p.is_public, p.is_archived,
  p.created_us, p.updated_us, p.fields_json, p.likes, p.downloads, p.views, p.commits, p.last_hash,
  EXISTS (SELECT 1 FROM prompt_likes l WHERE l.prompt_id = p.id AND l.tenant_id = ?1),
  (SELECT json_group_array(g.name) FROM prompt_tags g WHERE g.prompt_id = p.id)`;

export const promptTable = "prompts p JOIN tenants t ON t.id = p.tenant_id";

export function parsePromptRow(values: readonly unknown[]): Prompt {
  return {
    id: String(values[0]),
    tenantId: String(values[1]),
    owner: textOrNull(values[2]),
    handle: String(values[3]),
    repoType: values[4] as RepoType,
    isPublic: values[5] === 1,
    isArchived: values[6] === 1,
    createdMicros: Number(values[7]),
    updatedMicros: Number(values[8]),
    fields: JSON.parse(String(values[9])) as PromptFields,
    likes: Number(values[10]),
    downloads: Number(values[11]),
    views: Number(values[12]),
    commits: Number(values[13]),
    lastHash: textOrNull(values[14]),
    isLiked: values[15] === 1,
    commitTags: JSON.parse(String(values[16])) as readonly string[],
  };
}

/** Columns of `prompt_commits`, in the order of {@link parseCommitRow}. */
export const commitColumns =
  "id, prompt_id, hash, parent_id, parent_hash, created_us, downloads, views, description_json";

export function parseCommitRow(values: readonly unknown[]): PromptCommit {
  const [id, promptId, hash, parentId, parentHash, created, downloads, views, description] = values;
  return {
    id: String(id),
    promptId: String(promptId),
    hash: String(hash),
    parentId: textOrNull(parentId),
    parentHash: textOrNull(parentHash),
    createdMicros: Number(created),
    downloads: Number(downloads),
    views: Number(views),
    description: typeof description === "string" ? String(JSON.parse(description)) : null,
  };
}

/** Columns of a tag `g` of a commit `c`, in the order of {@link parseTagRow}. */
export const tagColumns =
  "g.id, g.prompt_id, g.name, g.commit_id, c.hash, g.created_us, g.updated_us";

export const tagTable = "prompt_tags g JOIN prompt_commits c ON c.id = g.commit_id";

export function parseTagRow(values: readonly unknown[]): PromptTag {
  const [id, promptId, name, commitId, commitHash, created, updated] = values;
  return {
    id: String(id),
    promptId: String(promptId),
    name: String(name),
    commitId: String(commitId),
    commitHash: String(commitHash),
    createdMicros: Number(created),
    updatedMicros: Number(updated),
  };
}

/** Normalizes a text for searching: in lower case, without characters that SQLite's text type can't store. */
export const toSearchText = (text: string): string =>
  // The conversion to UTF-8 replaces unpaired surrogates by U+FFFD.
  Buffer.from(text).toString().replaceAll("\0", "\ufffd").toLowerCase();

const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null);
