import { Fields, omitUndefined, parseList, createUnexpectedResponseError } from "../fields.ts";
import type { PromptPath } from "./prompt-identifier.ts";
import type { KeyValues } from "../run.ts";

/** A prompt: a repository whose commits contain its manifests. */
export interface Prompt {
  readonly id: string;
  /** The tenant that it belongs to. */
  readonly tenantId: string;
  /** The owner's handle; absent if the owner has none. */
  readonly owner?: string | undefined;
  /** The prompt's handle. */
  readonly repo: string;
  /** `owner/repo`. */
  readonly fullName: string;
  readonly description?: string | undefined;
  /** Text in Markdown. */
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
  /** Number of pulls of its commits. */
  readonly downloads: number;
  readonly views: number;
  readonly commits: number;
  /** Absent if there is no commit yet. */
  readonly lastCommitHash?: string | undefined;
}

/** A commit without its manifest. */
export interface PromptCommit {
  /** Absent if the server does not report it. */
  readonly id?: string | undefined;
  readonly commitHash: string;
  /** Absent for the first commit. */
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

/** A name for a commit, which can be moved to another commit. */
export interface PromptTag {
  readonly id: string;
  readonly name: string;
  readonly commitId: string;
  readonly commitHash: string;
  /** A time in ISO 8601 format. */
  readonly createdAt: string;
  /** A time in ISO 8601 format; the time when it was last moved. */
  readonly updatedAt: string;
}

/** @throws {@link ResponseError} if `value` is not a prompt. */
export function parsePrompt(value: unknown): Prompt {
  const fields = new Fields(value, "prompt");
  const isLiked = fields.value("liked_by_auth_user");
  return omitUndefined({
    id: fields.text("id"),
    tenantId: fields.text("tenant_id"),
    owner: fields.optionalText("owner"),
    repo: fields.text("repo_handle"),
    fullName: fields.text("full_name"),
    description: fields.optionalText("description"),
    readme: fields.optionalText("readme"),
    tags: parseList(fields.value("tags") ?? [], "tags", parseText),
    isPublic: fields.value("is_public") === true,
    isArchived: fields.value("is_archived") === true,
    createdAt: fields.text("created_at"),
    updatedAt: fields.text("updated_at"),
    likes: fields.optionalNumber("num_likes") ?? 0,
    isLiked: typeof isLiked === "boolean" ? isLiked : undefined,
    downloads: fields.optionalNumber("num_downloads") ?? 0,
    views: fields.optionalNumber("num_views") ?? 0,
    commits: fields.optionalNumber("num_commits") ?? 0,
    lastCommitHash: fields.optionalText("last_commit_hash"),
  });
}

/**
 * Parses the prompt in `{ repo }`.
 *
 * @throws {@link ResponseError} if it is missing.
 */
export const parseRepo = (value: unknown): Prompt =>
  parsePrompt(new Fields(value, "prompt").value("repo"));

/** @throws {@link ResponseError} if `value` is not a commit. */
export function parsePromptCommit(value: unknown): PromptCommit {
  const fields = new Fields(value, "commit of a prompt");
  return omitUndefined({
    id: fields.optionalText("id"),
    commitHash: fields.text("commit_hash"),
    parentCommitHash: fields.optionalText("parent_commit_hash"),
    description: fields.optionalText("description"),
    createdAt: fields.optionalText("created_at"),
    downloads: fields.optionalNumber("num_downloads") ?? 0,
    views: fields.optionalNumber("num_views") ?? 0,
  });
}

/**
 * Parses the response to creating a commit: `{ commit }`, or the commit itself.
 *
 * @throws {@link ResponseError} if it is neither.
 */
export function parseCreatedCommit(value: unknown): PromptCommit {
  const commit = new Fields(value, "commit of a prompt").value("commit");
  return parsePromptCommit(commit ?? value);
}

/** @throws {@link ResponseError} if `value` is not a commit with a manifest. */
export function parsePulledPrompt(value: unknown, { owner, repo }: PromptPath): PulledPrompt {
  const fields = new Fields(value, "commit of a prompt");
  const manifest = fields.value("manifest");
  if (typeof manifest !== "object" || manifest === null) {
    throw createUnexpectedResponseError("commit of a prompt", "it has no manifest");
  }
  return omitUndefined({
    owner,
    repo,
    commitHash: fields.text("commit_hash"),
    manifest: manifest as KeyValues,
    examples: parseList(fields.value("examples") ?? [], "examples", (example) => example),
    description: fields.optionalText("description"),
    modelProvider: fields.optionalText("model_provider"),
    modelConfig:
      typeof fields.value("model_config") === "object" && fields.value("model_config") !== null
        ? fields.object("model_config")
        : undefined,
  });
}

/** @throws {@link ResponseError} if `value` is not a tag. */
export function parsePromptTag(value: unknown): PromptTag {
  const fields = new Fields(value, "tag of a prompt");
  return {
    id: fields.text("id"),
    name: fields.text("tag_name"),
    commitId: fields.text("commit_id"),
    commitHash: fields.text("commit_hash"),
    createdAt: fields.text("created_at"),
    updatedAt: fields.text("updated_at"),
  };
}

function parseText(value: unknown): string {
  if (typeof value !== "string") {
    throw createUnexpectedResponseError("prompt", "a tag is not a string");
  }
  return value;
}
