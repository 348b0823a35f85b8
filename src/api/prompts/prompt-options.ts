import type { CallOptions } from "../http/http.ts";

/** Fields that describe a prompt. */
export interface PromptFields {
  readonly description?: string | undefined;
  /** A description of any length, in Markdown. */
  readonly readme?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  /** Whether everyone may read and like the prompt. Requires that the owner has a handle. */
  readonly isPublic?: boolean | undefined;
}

/** Arguments of {@link Prompts.create}. The prompt is private unless `isPublic` is set. */
export type CreatePrompt = PromptFields & CallOptions;

/** Arguments of {@link Prompts.update}. A field that is left out keeps its value. */
export interface UpdatePrompt extends PromptFields, CallOptions {
  /** Whether the prompt is archived. Archived prompts are left out of lists, but can still be pulled. */
  readonly isArchived?: boolean | undefined;
}

/** Fields by which prompts can be sorted. */
export type PromptSortField = "updatedAt" | "likes" | "downloads" | "views";

/** Filters of {@link Prompts.list}. A prompt is listed if it matches all of them. */
export interface ListPrompts extends CallOptions {
  /** Substring of the handle or the description, case-insensitive. */
  readonly query?: string | undefined;
  readonly isPublic?: boolean | undefined;
  /** `true` lists only archived prompts, `false` only others, and `"any"` both. @defaultValue false */
  readonly isArchived?: boolean | "any" | undefined;
  /** Only prompts that have all these tags. */
  readonly tags?: readonly string[] | undefined;
  /** Handle of the owner, or `-` for your own tenant. */
  readonly owner?: string | undefined;
  /** @defaultValue "updatedAt" */
  readonly sortField?: PromptSortField | undefined;
  /** @defaultValue "desc" */
  readonly sortDirection?: "asc" | "desc" | undefined;
  /** Maximum number of prompts, at least 1. @defaultValue no limit */
  readonly limit?: number | undefined;
}

/** Arguments of {@link Prompts.listCommits}. */
export interface ListCommits extends CallOptions {
  /** Only the commit that has this tag. */
  readonly tag?: string | undefined;
  /** Maximum number of commits, at least 1. @defaultValue no limit */
  readonly limit?: number | undefined;
}

/** Arguments of {@link Prompts.commit}. */
export interface CommitPrompt extends CallOptions {
  /**
   * An object that can be serialized as JSON, or has a `toJSON` method, such as a LangChain prompt. It is
   * copied as soon as `commit` or `push` is called.
   */
  readonly manifest: object;
  /**
   * Hash of the parent commit, or the beginning of the hash.
   *
   * @defaultValue the latest commit, which is looked up
   */
  readonly parentCommit?: string | undefined;
  readonly description?: string | undefined;
  /** Tags to point to this commit. A tag that exists already is moved from its current commit. */
  readonly tags?: readonly string[] | undefined;
}

/** Arguments of {@link Prompts.pull}. */
export interface PullPrompt extends CallOptions {
  /** Whether the manifest includes the model that it was saved with. @defaultValue false */
  readonly includeModel?: boolean | undefined;
}

/** Arguments of {@link Prompts.get}. */
export interface GetPrompt extends PullPrompt {
  /**
   * A manifest to use if the server does not send the prompt, and there is no older version and no snapshot. Like
   * {@link CommitPrompt.manifest}, it is copied as soon as `get` is called.
   */
  readonly fallback?: object | undefined;
  /**
   * Milliseconds for which a prompt in memory is served without a request to the server. With 0, each call sends a
   * request. A commit that is named by its hash never expires.
   *
   * @defaultValue the client's option `promptTtlMs`
   */
  readonly ttlMs?: number | undefined;
  /**
   * Longest time in milliseconds to wait for the server, if there is an older version, a snapshot or a fallback.
   *
   * @defaultValue the client's option `promptWaitMs`
   */
  readonly waitMs?: number | undefined;
}

/** Arguments of {@link Prompts.push}: fields of the prompt and of the commit. */
export interface PushPrompt extends PromptFields, CallOptions {
  /** See {@link CommitPrompt.manifest}. Without a manifest nothing is committed. */
  readonly manifest?: object | undefined;
  readonly parentCommit?: string | undefined;
  readonly commitDescription?: string | undefined;
  readonly commitTags?: readonly string[] | undefined;
}

/** Result of {@link Prompts.push}. */
export interface PushedPrompt {
  /** URL of the commit in the UI, or of the prompt if no manifest was given. */
  readonly url: string;
  /** Whether the push created the prompt. */
  readonly isNew: boolean;
  /** Hash of the commit with the manifest; absent if no manifest was given. */
  readonly commitHash?: string | undefined;
  /** Whether the push created a commit. It does not if the latest commit has the same manifest. */
  readonly isCommitted: boolean;
}

/** Arguments of the calls that take a tag. */
export interface TagPrompt extends CallOptions {
  readonly tag: string;
}
