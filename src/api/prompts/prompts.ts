import { Fields, parseList } from "../../model/fields.ts";
import { validateIds } from "../../model/ids.ts";
import {
  assertNewHandle,
  assertNewPromptTag,
  assertPromptTag,
  parsePromptPath,
  parsePromptReference,
  ownOwner,
} from "../../model/resources/prompt-identifier.ts";
import { parsePrompt, parsePromptTag, parseRepo } from "../../model/resources/prompt.ts";
import type {
  Prompt,
  PromptCommit,
  PromptTag,
  PulledPrompt,
} from "../../model/resources/prompt.ts";
import type { RuntimePrompt } from "../../model/resources/runtime-prompt.ts";
import { assertChange } from "../http/assert-change.ts";
import type { Call, CallOptions } from "../http/http.ts";
import { isFound } from "../http/is-found.ts";
import { splitIntoChunks, identifyById, listByOffset } from "../http/pages.ts";
import type { Pages } from "../http/pages.ts";
import type { PromptCache } from "./prompt-cache.ts";
import { PromptCommits } from "./prompt-commits.ts";
import {
  assertMilliseconds,
  pickPromptFields,
  sortFields,
  toListQuery,
  copyManifest,
  promptMustExistMessage,
  createNotFoundText,
  requestOrNotFound,
  toWireFields,
} from "./prompt-fields.ts";
import type {
  CommitPrompt,
  CreatePrompt,
  GetPrompt,
  ListCommits,
  ListPrompts,
  PullPrompt,
  PushPrompt,
  PushedPrompt,
  TagPrompt,
  UpdatePrompt,
} from "./prompt-options.ts";
import { ServerInfoReader } from "../http/server-info.ts";
import type { Tenant } from "../tenant.ts";
import { ConflictError, ValidationError } from "../../model/errors.ts";
import { createHubPromptUrl, createOwnPromptUrl } from "../../model/links.ts";
import type { PromptPage } from "../../model/links.ts";
import type { TenantSettings } from "../../model/resources/tenant.ts";
import { flag, notNull, oneOf, texts } from "../http/argument-checks.ts";
import { callOptionKeys } from "../http/known-arguments.ts";
import type { CallTable } from "../http/known-arguments.ts";

/** @internal Constructor arguments of {@link Prompts}. */
export interface PromptsInit {
  /** Base URL of the UI. */
  readonly host: string;
  readonly tenant: Tenant;
  readonly cache: PromptCache;
}

/**
 * The prompt hub. A prompt is identified by `repo` (one of your own) or `owner/repo`. A commit is identified by
 * appending `:` and its hash, the beginning of the hash, or a tag. Every call throws {@link ValidationError}
 * for a malformed identifier before it sends anything.
 */
export class Prompts {
  readonly #call: Call;
  readonly #host: string;
  readonly #tenant: Tenant;
  readonly #cache: PromptCache;
  readonly #commits: PromptCommits;

  /** @internal */
  constructor(call: Call, { host, tenant, cache }: PromptsInit) {
    this.#call = call;
    this.#host = host;
    this.#tenant = tenant;
    this.#cache = cache;
    this.#commits = new PromptCommits(call, new ServerInfoReader(call));
  }

  /**
   * Creates a prompt without commits. Repeating the call throws {@link ConflictError}.
   *
   * @throws {@link ValidationError} if `repo` does not consist of lower case letters, digits, `-` and `_`, beginning
   * with a letter; if the prompt belongs to another tenant; or if it is public and its owner has no handle.
   * @throws {@link ConflictError} if the tenant already has a prompt named `repo`.
   */
  async create(identifier: string, prompt: CreatePrompt = {}): Promise<Prompt> {
    const { owner, repo } = parsePromptPath(identifier);
    assertNewHandle(identifier, repo);
    const { isPublic = false, signal } = prompt;
    const ownership = this.#createOwnership(prompt);
    await ownership.assertOwn("create a prompt", owner);
    await ownership.assertPublishable(isPublic);
    const json = {
      ...toWireFields(pickPromptFields(prompt)),
      repo_handle: repo,
      is_public: isPublic,
    };
    return parseRepo(await this.#call("createPrompt", { json, signal }));
  }

  /**
   * Reads a prompt.
   *
   * @throws {@link NotFoundError} if there is no such prompt, or it is another tenant's private prompt:
   * `Prompt[...] not found`.
   */
  async read(identifier: string, { signal }: CallOptions = {}): Promise<Prompt> {
    const { owner, repo } = parsePromptPath(identifier);
    const path = { owner, repo };
    return parseRepo(
      await requestOrNotFound(createNotFoundText(path), () =>
        this.#call("readPrompt", { path, signal }),
      ),
    );
  }

  /**
   * Returns whether the prompt exists. Any failure other than {@link NotFoundError} is thrown, as by
   * {@link Prompts.read}.
   */
  has(identifier: string, options: CallOptions = {}): Promise<boolean> {
    return isFound(this.read(identifier, options));
  }

  /**
   * Lists your own prompts and the public prompts of others. Pages are fetched as they are consumed.
   *
   * @throws {@link ValidationError} if `limit` is not a whole number of at least 1.
   */
  list(filter: ListPrompts = {}): Pages<Prompt> {
    const { limit, signal } = filter;
    const query = toListQuery(filter);
    return listByOffset(
      limit,
      async (page) => {
        const response = await this.#call("listPrompts", { query: { ...query, ...page }, signal });
        return parseList(
          new Fields(response, "list of prompts").readValue("repos"),
          "prompts",
          parsePrompt,
        );
      },
      identifyById,
    );
  }

  /**
   * Changes the fields that are given. Repeating the call has no further effect.
   *
   * @throws {@link ValidationError} if no field is given (`No valid update options provided`), or the prompt
   * belongs to another tenant.
   * @throws {@link NotFoundError} if there is no such prompt:
   * `Prompt does not exist, you must create it first.`
   */
  async update(identifier: string, changes: UpdatePrompt): Promise<Prompt> {
    const { owner, repo } = parsePromptPath(identifier);
    const { isPublic, signal } = changes;
    const json = toWireFields(changes);
    assertChange(json, ["description", "readme", "tags", "isPublic", "isArchived"]);
    const ownership = this.#createOwnership(changes);
    await ownership.assertOwn("update a prompt", owner);
    await ownership.assertPublishable(isPublic);
    return parseRepo(
      await requestOrNotFound(promptMustExistMessage, () =>
        this.#call("updatePrompt", { path: { owner, repo }, json, signal }),
      ),
    );
  }

  /**
   * Deletes a prompt and its commits.
   *
   * @throws {@link ValidationError} if the prompt belongs to another tenant.
   * @throws {@link NotFoundError} if there is no such prompt: `Prompt[...] not found`.
   */
  async delete(identifier: string, options: CallOptions = {}): Promise<void> {
    const { owner, repo } = parsePromptPath(identifier);
    const path = { owner, repo };
    await this.#createOwnership(options).assertOwn("delete a prompt", owner);
    await requestOrNotFound(createNotFoundText(path), () =>
      this.#call("deletePrompt", { path, signal: options.signal }),
    );
  }

  /**
   * Deletes your own prompts by id, 100 per request. Ids of prompts that do not exist are ignored.
   *
   * @throws {@link ValidationError} if an id is not a UUID.
   */
  async deleteMany(ids: readonly string[], { signal }: CallOptions = {}): Promise<void> {
    validateIds(ids, "prompt id");
    for (const chunkOfIds of splitIntoChunks(ids)) {
      await this.#call("deletePrompts", { query: { repo_ids: chunkOfIds }, signal });
    }
  }

  /**
   * Likes a prompt, and returns its number of likes. Repeating the call has no further effect.
   *
   * @throws {@link NotFoundError} if there is no such prompt.
   */
  like(identifier: string, options: CallOptions = {}): Promise<number> {
    return this.#setLike(identifier, { ...options, isLiked: true });
  }

  /** Removes a like, and returns the number of likes. See {@link Prompts.like}. */
  unlike(identifier: string, options: CallOptions = {}): Promise<number> {
    return this.#setLike(identifier, { ...options, isLiked: false });
  }

  /**
   * Lists commits, newest first. Pages are fetched as they are consumed.
   *
   * @throws {@link ValidationError} if `limit` is not a whole number of at least 1.
   */
  listCommits(identifier: string, options: ListCommits = {}): Pages<PromptCommit> {
    return this.#commits.list(parsePromptPath(identifier), options);
  }

  /**
   * Commits a manifest on top of the latest commit, or of `parentCommit`.
   *
   * @throws {@link ValidationError} if the manifest is not an object, a tag is malformed or looks like a hash, or the
   * prompt belongs to another tenant.
   * @throws {@link NotFoundError} if there is no such prompt:
   * `Prompt does not exist, you must create it first.`
   * @throws {@link ConflictError} if a commit newer than the parent exists, or the latest commit has the same
   * manifest.
   */
  async commit(identifier: string, commit: CommitPrompt): Promise<PromptCommit> {
    const promptPath = parsePromptPath(identifier);
    const manifest = copyManifest(commit.manifest);
    commit.tags?.forEach(assertNewPromptTag);
    await this.#createOwnership(commit).assertOwn("commit to a prompt", promptPath.owner);
    return this.#commits.create(promptPath, { ...commit, manifest });
  }

  /**
   * Returns the manifest of the commit that the identifier names, or of the latest commit.
   *
   * @throws {@link NotFoundError} if there is no such prompt or commit. If the prompt has no commits, the message
   * begins with `No commits found`.
   */
  async pull(identifier: string, options: PullPrompt = {}): Promise<PulledPrompt> {
    return this.#commits.pull(parsePromptReference(identifier), options);
  }

  /**
   * Returns a prompt for immediate use, like {@link Prompts.pull} but usually from memory. An expired prompt is
   * returned at once, and requested again in the background. If the server does not send the prompt, the result is an
   * older version, the snapshot on disk or the fallback, in this order; its `source` says which. Calls for the same
   * prompt share one request.
   *
   * @throws {@link ValidationError} if an option is invalid.
   * @throws {@link NotFoundError} if the server has no such prompt or commit, and there is no fallback.
   * @throws {@link SdkError} if the server did not send the prompt, and nothing else can be returned.
   */
  async get(identifier: string, options: GetPrompt = {}): Promise<RuntimePrompt> {
    const reference = parsePromptReference(identifier);
    const { includeModel = false, fallback, ttlMs, waitMs, signal } = options;
    assertMilliseconds("ttlMs", ttlMs);
    assertMilliseconds("waitMs", waitMs);
    return this.#cache.get({
      reference,
      includeModel,
      ttlMs,
      waitMs,
      signal,
      fallback: fallback === undefined ? undefined : copyManifest(fallback),
      pull: (limits) => this.#commits.pull(reference, { includeModel, ...limits }),
    });
  }

  /**
   * Creates the prompt if it does not exist, otherwise updates the fields that are given; then commits the
   * manifest, if one is given. Repeating the call has no further effect: a manifest that the latest commit
   * already has is not committed again.
   *
   * @throws {@link ValidationError} as for {@link Prompts.create} and {@link Prompts.commit}.
   * @throws {@link ConflictError} if a commit newer than the parent exists.
   */
  async push(identifier: string, prompt: PushPrompt = {}): Promise<PushedPrompt> {
    const promptPath = parsePromptPath(identifier);
    const manifest = prompt.manifest === undefined ? undefined : copyManifest(prompt.manifest);
    const { parentCommit, commitDescription: description, commitTags: tags, signal } = prompt;
    const draft = { parentCommit, description, tags, signal };
    tags?.forEach(assertNewPromptTag);
    const ownership = this.#createOwnership(prompt);
    await ownership.assertOwn("push a prompt", promptPath.owner);
    const fields = pickPromptFields(prompt);
    const isNew = await this.#createIfMissing(identifier, { ...fields, signal });
    if (!isNew && Object.keys(fields).length > 0) {
      await this.update(identifier, { ...fields, signal });
    }
    const commit =
      manifest && (await this.#commits.createIfChanged(promptPath, { ...draft, manifest }));
    const url = await ownership.createUrl(
      { ...promptPath, commitHash: commit?.commitHash },
      this.#host,
    );
    return { url, isNew, isCommitted: false, ...commit };
  }

  /**
   * Adds a tag to the commit that the identifier names, or to the latest commit. If another commit has this tag, the
   * tag moves.
   *
   * @throws {@link ValidationError} if the tag is malformed or looks like a hash, or the prompt belongs to another
   * tenant.
   * @throws {@link NotFoundError} if there is no such prompt or commit.
   */
  async tag(identifier: string, { tag, signal }: TagPrompt): Promise<PromptTag> {
    const reference = parsePromptReference(identifier);
    assertNewPromptTag(tag);
    await this.#createOwnership({ signal }).assertOwn("tag a prompt", reference.owner);
    const commitId = await this.#commits.findCommitId(reference, { signal });
    return this.#commits.writeTag(reference, { tag, commitId, signal });
  }

  /** Lists the tags of a prompt, sorted by name. */
  async listTags(identifier: string, { signal }: CallOptions = {}): Promise<readonly PromptTag[]> {
    const { owner, repo } = parsePromptPath(identifier);
    const response = await this.#call("listPromptTags", { path: { owner, repo }, signal });
    return parseList(response, "tags", parsePromptTag);
  }

  /**
   * Reads a tag.
   *
   * @throws {@link NotFoundError} if there is no such prompt or tag.
   */
  async readTag(identifier: string, { tag, signal }: TagPrompt): Promise<PromptTag> {
    const promptPath = parsePromptPath(identifier);
    assertPromptTag(tag);
    return this.#commits.readTag(promptPath, { tag, signal });
  }

  /**
   * Deletes a tag. Its commit is not deleted.
   *
   * @throws {@link NotFoundError} if there is no such prompt or tag.
   */
  async deleteTag(identifier: string, { tag, signal }: TagPrompt): Promise<void> {
    const { owner, repo } = parsePromptPath(identifier);
    assertPromptTag(tag);
    await this.#createOwnership({ signal }).assertOwn("delete a prompt tag", owner);
    await this.#call("deletePromptTag", { path: { owner, repo, tag }, signal });
  }

  /**
   * Returns the URL of a prompt or a commit in the UI. Queries the server for the tenant, and for the commit of
   * a tag, but does not check that the prompt exists.
   */
  async url(identifier: string, options: CallOptions = {}): Promise<string> {
    const reference = parsePromptReference(identifier);
    const commitHash = await this.#commits.findCommitHash(reference, options);
    return this.#createOwnership(options).createUrl({ ...reference, commitHash }, this.#host);
  }

  /** Creates a prompt unless it exists, and returns whether it was created. */
  async #createIfMissing(identifier: string, prompt: CreatePrompt): Promise<boolean> {
    const { signal } = prompt;
    if (await this.has(identifier, { signal })) {
      return false;
    }
    try {
      await this.create(identifier, prompt);
      return true;
    } catch (error) {
      // Another client may have created the prompt since it was looked up.
      if (error instanceof ConflictError && (await this.has(identifier, { signal }))) {
        return false;
      }
      throw error;
    }
  }

  #createOwnership(options: CallOptions): PromptOwnership {
    return new PromptOwnership(this.#tenant, options);
  }

  async #setLike(
    identifier: string,
    { isLiked, signal }: CallOptions & { readonly isLiked: boolean },
  ): Promise<number> {
    const path = parsePromptPath(identifier);
    const json = { like: isLiked };
    const response = await requestOrNotFound(createNotFoundText(path), () =>
      this.#call("likePrompt", { path: { ...path }, json, signal }),
    );
    return new Fields(response, "count of likes").readNumber("likes");
  }
}

/**
 * Determines for one call whether a prompt belongs to the client's tenant. The tenant's settings are requested
 * at most once, and only if they are needed.
 */
class PromptOwnership {
  readonly #tenant: Tenant;
  readonly #signal: AbortSignal | undefined;
  #settings: Promise<TenantSettings> | undefined;

  constructor(tenant: Tenant, { signal }: CallOptions) {
    this.#tenant = tenant;
    this.#signal = signal;
  }

  readSettings(): Promise<TenantSettings> {
    this.#settings ??= this.#tenant.settings({ signal: this.#signal });
    return this.#settings;
  }

  async isOwn(owner: string): Promise<boolean> {
    return owner === ownOwner || owner === (await this.readSettings()).handle;
  }

  /**
   * Requires that the tenant owns the prompt. The error message begins like the message of LangSmith's client for this
   * case.
   *
   * @throws {@link ValidationError} if the prompt belongs to another tenant.
   */
  async assertOwn(action: string, owner: string): Promise<void> {
    if (!(await this.isOwn(owner))) {
      const { handle } = await this.readSettings();
      const handleText = handle === undefined ? "has no handle" : `has the handle ${handle}`;
      throw new ValidationError(
        `Cannot ${action} for another tenant: its owner is ${owner}, and the current tenant ${handleText}`,
      );
    }
  }

  /** @throws {@link ValidationError} if the prompt is to be public, but the tenant has no handle. */
  async assertPublishable(isPublic: boolean | undefined): Promise<void> {
    if (isPublic === true && (await this.readSettings()).handle === undefined) {
      throw new ValidationError(
        "Cannot make a public prompt without a hub handle. Set one with client.tenant.setHandle, or create a first public prompt in the server's UI",
      );
    }
  }

  /** Returns the URL of a prompt in the UI. The form of the URL depends on whether the prompt is the tenant's own. */
  async createUrl(page: PromptPage, host: string): Promise<string> {
    return (await this.isOwn(page.owner))
      ? createOwnPromptUrl(host, page, (await this.readSettings()).id)
      : createHubPromptUrl(host, page);
  }
}

const promptFieldKeys = {
  ...callOptionKeys,
  description: notNull('""'),
  readme: notNull('""'),
  tags: texts,
  isPublic: flag,
} as const;

/** The option names that each method accepts. */
export const promptCalls: CallTable<Prompts> = {
  create: { args: [null, promptFieldKeys] },
  read: { args: [null, callOptionKeys] },
  has: { args: [null, callOptionKeys] },
  list: {
    args: [
      {
        ...callOptionKeys,
        query: true,
        owner: true,
        tags: texts,
        isPublic: flag,
        isArchived: oneOf(true, false, "any"),
        sortField: oneOf(...Object.keys(sortFields)),
        sortDirection: oneOf("asc", "desc"),
        limit: true,
      },
    ],
    throws: true,
  },
  update: { args: [null, { ...promptFieldKeys, isArchived: flag }] },
  delete: { args: [null, callOptionKeys] },
  deleteMany: { args: [texts, callOptionKeys] },
  like: { args: [null, callOptionKeys] },
  unlike: { args: [null, callOptionKeys] },
  url: { args: [null, callOptionKeys] },
  commit: {
    args: [
      null,
      { ...callOptionKeys, manifest: true, parentCommit: true, description: true, tags: texts },
    ],
  },
  listCommits: { args: [null, { ...callOptionKeys, tag: true, limit: true }], throws: true },
  pull: { args: [null, { ...callOptionKeys, includeModel: true }] },
  get: {
    args: [
      null,
      { ...callOptionKeys, includeModel: true, fallback: true, ttlMs: true, waitMs: true },
    ],
  },
  push: {
    args: [
      null,
      {
        ...promptFieldKeys,
        manifest: true,
        parentCommit: true,
        commitDescription: true,
        commitTags: texts,
      },
    ],
  },
  tag: { args: [null, { ...callOptionKeys, tag: true }] },
  readTag: { args: [null, { ...callOptionKeys, tag: true }] },
  listTags: { args: [null, callOptionKeys] },
  deleteTag: { args: [null, { ...callOptionKeys, tag: true }] },
};
