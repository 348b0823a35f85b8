/** Kinds of repos; a prompt is one of them. */
export const repoTypes = ["prompt", "file", "agent", "skill"] as const;
export type RepoType = (typeof repoTypes)[number];

/** What callers say of a prompt; `null` where they say nothing. */
export interface PromptFields {
  readonly description: string | null;
  readonly readme: string | null;
  readonly tags: readonly string[];
  readonly restrictedMode: boolean;
  readonly source: string | null;
}

/** A prompt, as one tenant sees it. */
export interface Prompt {
  readonly id: string;
  readonly tenantId: string;
  /** The handle of its tenant. */
  readonly owner: string | null;
  readonly handle: string;
  readonly repoType: RepoType;
  readonly isPublic: boolean;
  readonly isArchived: boolean;
  readonly createdMicros: number;
  readonly updatedMicros: number;
  readonly fields: PromptFields;
  readonly likes: number;
  readonly isLiked: boolean;
  readonly downloads: number;
  readonly views: number;
  readonly commits: number;
  readonly lastHash: string | null;
  /** Names of tags of its commits. */
  readonly commitTags: readonly string[];
}

export interface PromptDraft {
  readonly handle: string;
  readonly repoType: RepoType;
  readonly isPublic: boolean;
  readonly fields: PromptFields;
}

/** What of a prompt can be changed; `null` leaves it as it is. */
export interface PromptChanges {
  readonly isPublic: boolean | null;
  readonly isArchived: boolean | null;
  readonly description: string | null;
  readonly readme: string | null;
  readonly tags: readonly string[] | null;
  readonly restrictedMode: boolean | null;
}

/** Where a prompt is: `-` is the owner who asks. */
export interface PromptLocation {
  readonly owner: string;
  readonly repo: string;
}

export const promptSorts = [
  "num_likes",
  "num_downloads",
  "num_views",
  "updated_at",
  "relevance",
  "repo_handle",
] as const;
export type PromptSort = (typeof promptSorts)[number];

/** Every filter that is given must hold. */
export interface PromptQuery {
  /** Part of the handle or of the description, in either case. */
  readonly text?: string;
  readonly tenantId?: string;
  readonly tenantHandle?: string;
  readonly isPublic?: boolean;
  readonly isArchived?: boolean;
  readonly hasCommits?: boolean;
  /** All of them. */
  readonly tags?: readonly string[];
  /** Any of them. */
  readonly repoTypes: readonly string[];
  readonly source?: string;
  readonly sort: PromptSort;
  readonly direction: "asc" | "desc";
  readonly limit: number;
  readonly offset: number;
}

export interface PromptPage {
  readonly prompts: readonly Prompt[];
  readonly total: number;
}

/** A commit, without its manifest. */
export interface PromptCommit {
  readonly id: string;
  readonly promptId: string;
  /** 64 hexadecimal digits. */
  readonly hash: string;
  readonly parentId: string | null;
  readonly parentHash: string | null;
  readonly description: string | null;
  readonly createdMicros: number;
  readonly downloads: number;
  readonly views: number;
}

export interface CommitDraft {
  /** JSON text of an object. */
  readonly manifest: string;
  /** A hash, the beginning of one, a tag or `latest`; `null` where there is no commit yet. */
  readonly parent: string | null;
  readonly description: string | null;
}

export interface CommitQuery {
  readonly tag?: string;
  readonly limit: number;
  readonly offset: number;
}

export interface CommitPage {
  readonly commits: readonly PromptCommit[];
  readonly total: number;
}

export interface PulledCommit {
  readonly commit: PromptCommit;
  /** JSON text, as it was committed. */
  readonly manifest: string;
}

export interface PromptTag {
  readonly id: string;
  readonly promptId: string;
  readonly name: string;
  readonly commitId: string;
  readonly commitHash: string;
  readonly createdMicros: number;
  readonly updatedMicros: number;
}

export interface TagDraft {
  readonly name: string;
  readonly commitId: string;
  /** Whether there must be a tag of that name already. */
  readonly mustExist: boolean;
}

/**
 * One's own prompts, and the public ones of others. Each throws RequestError 404 for what is not
 * there, or not to be seen.
 */
export interface PromptReads {
  find(tenantId: string, place: PromptLocation): Prompt | undefined;
  list(tenantId: string, query: PromptQuery): PromptPage;
  /** The latest first. */
  listCommits(tenantId: string, place: PromptLocation, query: CommitQuery): CommitPage;
  /** @throws RequestError 422: more than one commit begins with that. */
  pull(tenantId: string, place: PromptLocation, commit: string): PulledCommit;
  /** By name. */
  listTags(tenantId: string, place: PromptLocation): readonly PromptTag[];
  readTag(tenantId: string, place: PromptLocation, name: string): PromptTag;
}

/** Each throws RequestError 404 for what is not to be seen, and 403 for what is another tenant's. */
export interface PromptWrites {
  /** @throws RequestError 422: no handle, or a public one without a handle of the tenant. 409: taken. */
  create(tenantId: string, draft: PromptDraft): Prompt;
  update(tenantId: string, place: PromptLocation, changes: PromptChanges): Prompt;
  /** Its commits, tags and likes too. */
  delete(tenantId: string, place: PromptLocation): string;
  /** One's own, by id. Answers those that were there. */
  deleteMany(tenantId: string, ids: readonly string[]): readonly string[];
  /** Repeated, it changes nothing. Answers how many like it. */
  like(tenantId: string, place: PromptLocation, isLiked: boolean): number;
  /** @throws RequestError 409: the parent is not the latest commit, or that has the very manifest. */
  commit(tenantId: string, place: PromptLocation, draft: CommitDraft): PromptCommit;
  /** Makes the tag, or moves it. @throws RequestError 422: it can't be one. */
  writeTag(tenantId: string, place: PromptLocation, draft: TagDraft): PromptTag;
  deleteTag(tenantId: string, place: PromptLocation, name: string): void;
  /** Counts that a commit was read; `id` is its id. */
  count(id: string, what: "downloads" | "views"): void;
}
