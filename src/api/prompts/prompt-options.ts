import type { CallOptions } from "../http/http.ts";

/** The description of a prompt. */
export interface PromptFields {
  readonly description?: string | undefined;
  /** Markdown. */
  readonly readme?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  /** Whether everyone may read and like it; needs a handle for its owner. */
  readonly isPublic?: boolean | undefined;
}

/** Private where `isPublic` is left out. */
export type CreatePrompt = PromptFields & CallOptions;

/** What is left out stays as it is. */
export interface UpdatePrompt extends PromptFields, CallOptions {
  /** An archived prompt is left out of lists; it can still be pulled. */
  readonly isArchived?: boolean | undefined;
}

/** What a list of prompts can be in the order of. */
export type PromptSortField = "updatedAt" | "likes" | "downloads" | "views";

/** Every filter that is given must hold. */
export interface ListPrompts extends CallOptions {
  /** Part of the handle or the description, in either case. */
  readonly query?: string | undefined;
  readonly isPublic?: boolean | undefined;
  /** `"any"` for both. @defaultValue false */
  readonly isArchived?: boolean | "any" | undefined;
  /** All of them. */
  readonly tags?: readonly string[] | undefined;
  /** The handle of their owner. */
  readonly owner?: string | undefined;
  /** @defaultValue "updated_at" */
  readonly sortField?: PromptSortField | undefined;
  /** @defaultValue "desc" */
  readonly sortDirection?: "asc" | "desc" | undefined;
  /** Prompts at most, from 1. @defaultValue all of them */
  readonly limit?: number | undefined;
}

/** What {@link Prompts.listCommits} takes. */
export interface ListCommits extends CallOptions {
  /** Only the commit that has the tag. */
  readonly tag?: string | undefined;
  /** Commits at most, from 1. @defaultValue all of them */
  readonly limit?: number | undefined;
}

/** What {@link Prompts.commit} takes: the manifest, and its place among the commits. */
export interface CommitPrompt extends CallOptions {
  /** An object that JSON can hold, or one with `toJSON`, such as a LangChain prompt. Taken as it is at the call. */
  readonly manifest: object;
  /** The commit that it follows: a hash, or the beginning of one. @defaultValue the latest, looked up */
  readonly parentCommit?: string | undefined;
  readonly description?: string | undefined;
  /** Names that the commit gets, taken from the commits that have them now. */
  readonly tags?: readonly string[] | undefined;
}

/** What {@link Prompts.pull} takes. */
export interface PullPrompt extends CallOptions {
  /** Whether the manifest comes with the model that it was saved with. @defaultValue false */
  readonly includeModel?: boolean | undefined;
}

/** Fields of the prompt, and of the commit. */
export interface PushPrompt extends PromptFields, CallOptions {
  /** As {@link CommitPrompt.manifest}; left out, nothing is committed. */
  readonly manifest?: object | undefined;
  readonly parentCommit?: string | undefined;
  readonly commitDescription?: string | undefined;
  readonly commitTags?: readonly string[] | undefined;
}

/** What a push came to. */
export interface PushedPrompt {
  /** The page of the commit, else of the prompt. */
  readonly url: string;
  /** Whether the prompt was made. */
  readonly isNew: boolean;
  /** The commit that has the manifest; absent where none was given. */
  readonly commitHash?: string | undefined;
  /** Whether a commit was made: not where the latest has that very manifest. */
  readonly isCommitted: boolean;
}

/** Which tag of a commit is meant. */
export interface TagPrompt extends CallOptions {
  readonly tag: string;
}
