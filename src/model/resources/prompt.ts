import { Fields, omitUndefined, parseList, createUnexpectedResponseError } from "../fields.ts";
import type { PromptPath } from "./prompt-identifier.ts";
import type { KeyValues } from "../run.ts";

/** A prompt: a repository whose commits contain its manifests. */
export interface Prompt {
  readonly id: string;
  /** Id of the tenant that owns the prompt. */
  readonly tenantId: string;
  /** The owner's handle; absent if the owner has none. */
  readonly owner?: string | undefined;
  /** The prompt's handle. */
  readonly repo: string;
  /** The prompt's full name, `owner/repo`. */
  readonly fullName: string;
  readonly description?: string | undefined;
  /** A longer description in Markdown. */
  readonly readme?: string | undefined;
  readonly tags: readonly string[];
  readonly isPublic: boolean;
  readonly isArchived: boolean;
  /** A time in ISO 8601 format. */
  readonly createdAt: string;
  /** A time in ISO 8601 format. A commit also counts as an update. */
  readonly updatedAt: string;
  readonly likes: number;
  /** Whether the caller's tenant likes the prompt; absent if the server does not report it. */
  readonly isLiked?: boolean | undefined;
  /** Number of pulls of the prompt's commits. */
  readonly downloads: number;
  readonly views: number;
  readonly commits: number;
  /** Hash of the latest commit; absent if there is no commit yet. */
  readonly lastCommitHash?: string | undefined;
}

/** A commit without its manifest. */
export interface PromptCommit {
  /** Id of the commit; absent if the server does not report it. */
  readonly id?: string | undefined;
  readonly commitHash: string;
  /** Hash of the previous commit; absent for the first commit. */
  readonly parentCommitHash?: string | undefined;
  readonly description?: string | undefined;
  /** A time in ISO 8601 format. */
  readonly createdAt?: string | undefined;
  readonly downloads: number;
  readonly views: number;
}

/** A commit that was pulled. It is only data; nothing in it is executed. */
export interface PulledPrompt extends PromptPath {
  readonly commitHash: string;
  readonly manifest: KeyValues;
  readonly examples: readonly unknown[];
  readonly description?: string | undefined;
  /** Provider of the model that the prompt was saved with, if the server reports it. */
  readonly modelProvider?: string | undefined;
  readonly modelConfig?: KeyValues | undefined;
}

/** A name for a commit. The name can be moved to another commit. */
export interface PromptTag {
  readonly id: string;
  readonly name: string;
  readonly commitId: string;
  readonly commitHash: string;
  /** A time in ISO 8601 format. */
  readonly createdAt: string;
  /** The time when the tag was last moved, in ISO 8601 format. */
  readonly updatedAt: string;
}

/** @throws {@link ResponseError} if `value` is not a prompt. */
export function parsePrompt(value: unknown): Prompt {
  const fields = new Fields(value, "prompt");
  const isLiked = fields.readValue("liked_by_auth_user");
  return omitUndefined({
    id: fields.readText("id"),
    tenantId: fields.readText("tenant_id"),
    owner: fields.readOptionalText("owner"),
    repo: fields.readText("repo_handle"),
    fullName: fields.readText("full_name"),
    description: fields.readOptionalText("description"),
    readme: fields.readOptionalText("readme"),
    tags: parseList(fields.readValue("tags") ?? [], "tags", parseText),
    isPublic: fields.readValue("is_public") === true,
    isArchived: fields.readValue("is_archived") === true,
    createdAt: fields.readText("created_at"),
    updatedAt: fields.readText("updated_at"),
    likes: fields.readOptionalNumber("num_likes") ?? 0,
    isLiked: typeof isLiked === "boolean" ? isLiked : undefined,
    downloads: fields.readOptionalNumber("num_downloads") ?? 0,
    views: fields.readOptionalNumber("num_views") ?? 0,
    commits: fields.readOptionalNumber("num_commits") ?? 0,
    lastCommitHash: fields.readOptionalText("last_commit_hash"),
  });
}

/**
 * Parses a response `{ repo }`, whose member is a prompt.
 *
 * @throws {@link ResponseError} if `repo` is missing or not a prompt.
 */
export const parseRepo = (value: unknown): Prompt =>
  parsePrompt(new Fields(value, "prompt").readValue("repo"));

/** @throws {@link ResponseError} if `value` is not a commit. */
export function parsePromptCommit(value: unknown): PromptCommit {
  const fields = new Fields(value, "commit of a prompt");
  return omitUndefined({
    id: fields.readOptionalText("id"),
    commitHash: fields.readText("commit_hash"),
    parentCommitHash: fields.readOptionalText("parent_commit_hash"),
    description: fields.readOptionalText("description"),
    createdAt: fields.readOptionalText("created_at"),
    downloads: fields.readOptionalNumber("num_downloads") ?? 0,
    views: fields.readOptionalNumber("num_views") ?? 0,
  });
}

/**
 * Parses the response to creating a commit: `{ commit }`, or the commit itself.
 *
 * @throws {@link ResponseError} if it is neither.
 */
export function parseCreatedCommit(value: unknown): PromptCommit {
  const commit = new Fields(value, "commit of a prompt").readValue("commit");
  return parsePromptCommit(commit ?? value);
}

/** @throws {@link ResponseError} if `value` is not a commit with a manifest. */
export function parsePulledPrompt(value: unknown, { owner, repo }: PromptPath): PulledPrompt {
  const fields = new Fields(value, "commit of a prompt");
  const manifest = fields.readValue("manifest");
  if (typeof manifest !== "object" || manifest === null) {
    throw createUnexpectedResponseError("commit of a prompt", "it has no manifest");
  }
  return omitUndefined({
    owner,
    repo,
    commitHash: fields.readText("commit_hash"),
    manifest: manifest as KeyValues,
    examples: parseList(fields.readValue("examples") ?? [], "examples", (example) => example),
    description: fields.readOptionalText("description"),
    modelProvider: fields.readOptionalText("model_provider"),
    modelConfig:
      typeof fields.readValue("model_config") === "object" &&
      fields.readValue("model_config") !== null
        ? fields.readObject("model_config")
        : undefined,
  });
}

/** @throws {@link ResponseError} if `value` is not a tag. */
export function parsePromptTag(value: unknown): PromptTag {
  const fields = new Fields(value, "tag of a prompt");
  return {
    id: fields.readText("id"),
    name: fields.readText("tag_name"),
    commitId: fields.readText("commit_id"),
    commitHash: fields.readText("commit_hash"),
    createdAt: fields.readText("created_at"),
    updatedAt: fields.readText("updated_at"),
  };
}

function parseText(value: unknown): string {
  if (typeof value !== "string") {
    throw createUnexpectedResponseError("prompt", "a tag is not a string");
  }
  return value;
}
