/** The kinds of repositories on the hub; a prompt is one of them. */
export const repoTypes = ["prompt", "file", "agent", "skill"] as const;
export type RepoType = (typeof repoTypes)[number];

/** The fields of a prompt that a client writes; `null` for those that are not set. */
export interface PromptFields {
  readonly description: string | null;
  readonly readme: string | null;
  readonly tags: readonly string[];
  /** A flag of LangSmith's clients, which is stored and returned but restricts nothing here. */
  readonly restrictedMode: boolean;
  readonly source: string | null;
}

/** A prompt, as it is visible to one tenant. */
export interface Prompt {
  readonly id: string;
  readonly tenantId: string;
  /** Handle of the tenant that owns the prompt; `null` if the tenant has no handle. */
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
  readonly commitCount: number;
  readonly lastHash: string | null;
  /** Names of the tags of its commits. */
  readonly commitTags: readonly string[];
}

/** A prompt that is to be created. */
export interface PromptDraft {
  readonly handle: string;
  readonly repoType: RepoType;
  readonly isPublic: boolean;
  readonly fields: PromptFields;
}

/** The fields of a prompt to change; `null` leaves a field unchanged. */
export interface PromptChanges {
  readonly isPublic: boolean | null;
  readonly isArchived: boolean | null;
  readonly description: string | null;
  readonly readme: string | null;
  readonly tags: readonly string[] | null;
  readonly restrictedMode: boolean | null;
}

/** The address of a prompt. The owner `-` stands for the calling tenant. */
export interface PromptLocation {
  readonly owner: string;
  readonly repo: string;
}

/** The properties by which a list of prompts can be sorted. */
export const promptSorts = [
  "num_likes",
  "num_downloads",
  "num_views",
  "updated_at",
  "relevance",
  "repo_handle",
] as const;
export type PromptSort = (typeof promptSorts)[number];

/** Selects prompts. All filters that are set must match. */
export interface PromptQuery {
  /** A part of the handle or of the description, case-insensitive. */
  readonly text?: string;
  readonly tenantId?: string;
  readonly tenantHandle?: string;
  readonly isPublic?: boolean;
  readonly isArchived?: boolean;
  readonly hasCommits?: boolean;
  /** Tags, all of which the prompt must have. */
  readonly tags?: readonly string[];
  /** Only these kinds of repositories. */
  readonly repoTypes: readonly string[];
  readonly source?: string;
  readonly sort: PromptSort;
  readonly direction: "asc" | "desc";
  readonly limit: number;
  readonly offset: number;
}

/** A page of a list of prompts, and the number of prompts in the whole list. */
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

/** A commit that is to be created. */
export interface CommitDraft {
  /** JSON text of an object. */
  readonly manifest: string;
  /** The commit before this one: a hash, a prefix of a hash, a tag or `latest`; `null` for the first commit. */
  readonly parent: string | null;
  readonly description: string | null;
}

/** Selects a page of the commits of a prompt. */
export interface CommitQuery {
  readonly tag?: string;
  readonly limit: number;
  readonly offset: number;
}

/** A page of the commits of a prompt, and the number of all of its commits. */
export interface CommitPage {
  readonly commits: readonly PromptCommit[];
  readonly total: number;
}

/** A commit with its manifest, as a client that pulls the prompt receives it. */
export interface PulledCommit {
  readonly commit: PromptCommit;
  /** JSON text, as it was committed. */
  readonly manifest: string;
}

/** A tag of a prompt, which refers to one of its commits. */
export interface PromptTag {
  readonly id: string;
  readonly promptId: string;
  readonly name: string;
  readonly commitId: string;
  readonly commitHash: string;
  readonly createdMicros: number;
  readonly updatedMicros: number;
}

/** A tag that is to be created, or moved to another commit. */
export interface TagDraft {
  readonly name: string;
  readonly commitId: string;
  /** Whether the tag must already exist. */
  readonly mustExist: boolean;
}

/**
 * Reads the tenant's own prompts and the public prompts of other tenants. Each method throws RequestError 404 for a
 * prompt, commit or tag that does not exist or is not visible to the tenant.
 */
export interface PromptReads {
  find(tenantId: string, location: PromptLocation): Promise<Prompt | undefined>;
  list(tenantId: string, query: PromptQuery): Promise<PromptPage>;
  /** Lists the commits of a prompt, the latest first. */
  listCommits(tenantId: string, location: PromptLocation, query: CommitQuery): Promise<CommitPage>;
  /**
   * Reads a commit with its manifest.
   *
   * @throws RequestError 422: more than one commit begins with the given hash.
   */
  pull(tenantId: string, location: PromptLocation, commit: string): Promise<PulledCommit>;
  /** Lists the tags of a prompt by name. */
  listTags(tenantId: string, location: PromptLocation): Promise<readonly PromptTag[]>;
  readTag(tenantId: string, location: PromptLocation, name: string): Promise<PromptTag>;
}

/**
 * Writes prompts. Each method throws RequestError 404 for a prompt that is not visible to the tenant, and 403 for one
 * that another tenant owns.
 */
export interface PromptWrites {
  /**
   * Creates a prompt.
   *
   * @throws RequestError 422: the handle is malformed, or the prompt is public and its tenant has no handle. 409:
   * another prompt has the handle.
   */
  create(tenantId: string, draft: PromptDraft): Promise<Prompt>;
  update(tenantId: string, location: PromptLocation, changes: PromptChanges): Promise<Prompt>;
  /** Deletes a prompt with its commits, tags and likes, and returns its id. */
  delete(tenantId: string, location: PromptLocation): Promise<string>;
  /** Deletes the given prompts that the tenant owns, and returns their ids. */
  deleteMany(tenantId: string, ids: readonly string[]): Promise<readonly string[]>;
  /** Adds or removes the tenant's like, and returns the number of likes. Repeating the call changes nothing. */
  like(tenantId: string, location: PromptLocation, shouldLike: boolean): Promise<number>;
  /**
   * Commits a manifest.
   *
   * @throws RequestError 409: the parent is not the latest commit, or the latest commit has the same manifest.
   */
  commit(tenantId: string, location: PromptLocation, draft: CommitDraft): Promise<PromptCommit>;
  /**
   * Creates or moves a tag.
   *
   * @throws RequestError 422: the name is not a valid tag.
   */
  writeTag(tenantId: string, location: PromptLocation, draft: TagDraft): Promise<PromptTag>;
  deleteTag(tenantId: string, location: PromptLocation, name: string): Promise<void>;
  /** Counts a download or a view of the commit with this id. */
  count(commitId: string, counter: "downloads" | "views"): Promise<void>;
}
