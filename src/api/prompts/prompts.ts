import { Fields, parseList } from "../../model/fields.ts";
import { checkIds } from "../../model/ids.ts";
import {
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
import { assertChange } from "../http/assert-change.ts";
import type { Call, CallOptions } from "../http/http.ts";
import { isFound } from "../http/is-found.ts";
import { chunksOf, pagesByOffset } from "../http/pages.ts";
import type { Pages } from "../http/pages.ts";
import { PromptCommits } from "./prompt-commits.ts";
import {
  fieldsOf,
  listQuery,
  manifestOf,
  mustExistText,
  notFoundText,
  orNotFound,
  wireFields,
} from "./prompt-fields.ts";
import type {
  CommitPrompt,
  CreatePrompt,
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
import { ValidationError } from "../../model/errors.ts";
import { hubPromptUrl, ownPromptUrl } from "../../model/links.ts";
import type { PromptPage } from "../../model/links.ts";
import type { TenantSettings } from "../../model/resources/tenant.ts";

/**
 * The prompt hub. A prompt is named by `repo` (one's own), `owner/repo`, or either with `:` and a
 * commit: its hash, the beginning of one, or a tag. Every call throws {@link ValidationError} for a
 * malformed name, before anything is sent.
 */
export class Prompts {
  readonly #call: Call;
  readonly #host: string;
  readonly #tenant: Tenant;
  readonly #commits: PromptCommits;

  /** @internal */
  constructor(call: Call, host: string, tenant: Tenant) {
    this.#call = call;
    this.#host = host;
    this.#tenant = tenant;
    this.#commits = new PromptCommits(call, new ServerInfoReader(call));
  }

  /**
   * Makes a prompt without commits. Repeated, it is a conflict.
   *
   * @throws {@link ValidationError} it is another tenant's, or public without a handle for its owner.
   * @throws {@link ConflictError} the handle is taken.
   */
  async create(identifier: string, prompt: CreatePrompt = {}): Promise<Prompt> {
    const { owner, repo } = parsePromptPath(identifier);
    const { isPublic = false, signal } = prompt;
    const ownership = this.#ownership(prompt);
    await ownership.assertOwn("create a prompt", owner);
    await ownership.assertPublishable(isPublic);
    const json = { ...wireFields(fieldsOf(prompt)), repo_handle: repo, is_public: isPublic };
    return parseRepo(await this.#call("createPrompt", { json, signal }));
  }

  /** @throws {@link NotFoundError} `Prompt[...] not found`; someone else's private one is not to be seen. */
  async read(identifier: string, { signal }: CallOptions = {}): Promise<Prompt> {
    const { owner, repo } = parsePromptPath(identifier);
    const path = { owner, repo };
    return parseRepo(
      await orNotFound(notFoundText(path), () => this.#call("readPrompt", { path, signal })),
    );
  }

  /** Whether there is such a prompt. Every other failure is thrown, as by {@link Prompts.read}. */
  has(identifier: string, options: CallOptions = {}): Promise<boolean> {
    return isFound(this.read(identifier, options));
  }

  /**
   * Prompts by page, as they are consumed: one's own, and the public ones of others.
   *
   * @throws {@link ValidationError} `limit` is not a whole number from 1.
   */
  list(filter: ListPrompts = {}): Pages<Prompt> {
    const { limit, signal } = filter;
    const query = listQuery(filter);
    return pagesByOffset(limit, async (page) => {
      const response = await this.#call("listPrompts", { query: { ...query, ...page }, signal });
      return parseList(
        new Fields(response, "list of prompts").value("repos"),
        "prompts",
        parsePrompt,
      );
    });
  }

  /**
   * Changes what is given. Repeating it changes nothing more.
   *
   * @throws {@link ValidationError} `No valid update options provided`, or it is another tenant's.
   * @throws {@link NotFoundError} `Prompt does not exist, you must create it first.`
   */
  async update(identifier: string, changes: UpdatePrompt): Promise<Prompt> {
    const { owner, repo } = parsePromptPath(identifier);
    const { isPublic, signal } = changes;
    const json = wireFields(changes);
    assertChange(json, ["description", "readme", "tags", "isPublic", "isArchived"]);
    const ownership = this.#ownership(changes);
    await ownership.assertOwn("update a prompt", owner);
    await ownership.assertPublishable(isPublic);
    return parseRepo(
      await orNotFound(mustExistText, () =>
        this.#call("updatePrompt", { path: { owner, repo }, json, signal }),
      ),
    );
  }

  /**
   * Deletes a prompt with its commits.
   *
   * @throws {@link ValidationError} it is another tenant's.
   * @throws {@link NotFoundError} `Prompt[...] not found`.
   */
  async delete(identifier: string, options: CallOptions = {}): Promise<void> {
    const { owner, repo } = parsePromptPath(identifier);
    const path = { owner, repo };
    await this.#ownership(options).assertOwn("delete a prompt", owner);
    await orNotFound(notFoundText(path), () =>
      this.#call("deletePrompt", { path, signal: options.signal }),
    );
  }

  /**
   * Deletes one's own prompts by their ids, 100 a call. Ids that name none are passed over.
   *
   * @throws {@link ValidationError} an id is not a UUID.
   */
  async deleteMany(ids: readonly string[], { signal }: CallOptions = {}): Promise<void> {
    checkIds(ids, "prompt id");
    for (const some of chunksOf(ids)) {
      await this.#call("deletePrompts", { query: { repo_ids: some }, signal });
    }
  }

  /** Answers how many like it now. Repeating it changes nothing. @throws {@link NotFoundError} no such prompt. */
  like(identifier: string, options: CallOptions = {}): Promise<number> {
    return this.#like(identifier, { ...options, isLiked: true });
  }

  /** Takes a like back; as {@link Prompts.like}. */
  unlike(identifier: string, options: CallOptions = {}): Promise<number> {
    return this.#like(identifier, { ...options, isLiked: false });
  }

  /**
   * Commits by page, as they are consumed, the latest first.
   *
   * @throws {@link ValidationError} `limit` is not a whole number from 1.
   */
  listCommits(identifier: string, options: ListCommits = {}): Pages<PromptCommit> {
    return this.#commits.list(parsePromptPath(identifier), options);
  }

  /**
   * Commits a manifest, on top of the latest commit unless `parentCommit` names another.
   *
   * @throws {@link ValidationError} the manifest is no object, or the prompt another tenant's.
   * @throws {@link NotFoundError} `Prompt does not exist, you must create it first.`
   * @throws {@link ConflictError} a newer commit exists than the parent, or the latest has that very manifest.
   */
  async commit(identifier: string, commit: CommitPrompt): Promise<PromptCommit> {
    const place = parsePromptPath(identifier);
    const manifest = manifestOf(commit.manifest);
    commit.tags?.forEach(assertPromptTag);
    await this.#ownership(commit).assertOwn("commit to a prompt", place.owner);
    return this.#commits.create(place, { ...commit, manifest });
  }

  /**
   * The commit that the identifier names, else the latest.
   *
   * @throws {@link NotFoundError} no such prompt or commit; `No commits found`.
   */
  async pull(identifier: string, options: PullPrompt = {}): Promise<PulledPrompt> {
    return this.#commits.pull(parsePromptReference(identifier), options);
  }

  /**
   * Makes a prompt what it should be: changes its fields where it exists and some are given, makes it
   * where it does not, then commits the manifest, if there is one. Repeating it changes nothing more:
   * a manifest that the latest commit has already is not committed again.
   *
   * @throws {@link ValidationError} as {@link Prompts.create} and {@link Prompts.commit}.
   * @throws {@link ConflictError} a newer commit exists than the parent.
   */
  async push(identifier: string, prompt: PushPrompt = {}): Promise<PushedPrompt> {
    const place = parsePromptPath(identifier);
    const manifest = prompt.manifest === undefined ? undefined : manifestOf(prompt.manifest);
    const { parentCommit, commitDescription: description, commitTags: tags, signal } = prompt;
    const draft = { parentCommit, description, tags, signal };
    tags?.forEach(assertPromptTag);
    const ownership = this.#ownership(prompt);
    await ownership.assertOwn("push a prompt", place.owner);
    const isNew = !(await this.has(identifier, prompt));
    const fields = fieldsOf(prompt);
    if (isNew) {
      await this.create(identifier, { ...fields, signal });
    } else if (Object.keys(fields).length > 0) {
      await this.update(identifier, { ...fields, signal });
    }
    const commit = manifest && (await this.#commits.ensure(place, { ...draft, manifest }));
    const url = await ownership.urlOf({ ...place, commitHash: commit?.commitHash }, this.#host);
    return { url, isNew, isCommitted: false, ...commit };
  }

  /**
   * Gives a commit a name: the one that the identifier names, else the latest. A tag of that name is
   * moved.
   *
   * @throws {@link ValidationError} the tag can't be one, or the prompt is another tenant's.
   * @throws {@link NotFoundError} no such prompt or commit.
   */
  async tag(identifier: string, { tag, signal }: TagPrompt): Promise<PromptTag> {
    const reference = parsePromptReference(identifier);
    assertPromptTag(tag);
    await this.#ownership({ signal }).assertOwn("tag a prompt", reference.owner);
    const commitId = await this.#commits.idOf(reference, { signal });
    return this.#commits.writeTag(reference, { tag, commitId, signal });
  }

  /** By name. */
  async listTags(identifier: string, { signal }: CallOptions = {}): Promise<readonly PromptTag[]> {
    const { owner, repo } = parsePromptPath(identifier);
    const response = await this.#call("listPromptTags", { path: { owner, repo }, signal });
    return parseList(response, "tags", parsePromptTag);
  }

  /** @throws {@link NotFoundError} no such prompt or tag. */
  async readTag(identifier: string, { tag, signal }: TagPrompt): Promise<PromptTag> {
    const place = parsePromptPath(identifier);
    assertPromptTag(tag);
    return this.#commits.readTag(place, { tag, signal });
  }

  /** Takes the name from its commit, which stays. @throws {@link NotFoundError} no such prompt or tag. */
  async deleteTag(identifier: string, { tag, signal }: TagPrompt): Promise<void> {
    const { owner, repo } = parsePromptPath(identifier);
    assertPromptTag(tag);
    await this.#ownership({ signal }).assertOwn("tag a prompt", owner);
    await this.#call("deletePromptTag", { path: { owner, repo, tag }, signal });
  }

  /**
   * The address of its page, or of a commit's. Asks for the tenant, and for a tag which commit has
   * it; does not ask whether there is such a prompt.
   */
  async url(identifier: string, options: CallOptions = {}): Promise<string> {
    const reference = parsePromptReference(identifier);
    const commitHash = await this.#commits.hashOf(reference, options);
    return this.#ownership(options).urlOf({ ...reference, commitHash }, this.#host);
  }

  #ownership(options: CallOptions): PromptOwnership {
    return new PromptOwnership(this.#tenant, options);
  }

  async #like(
    identifier: string,
    { isLiked, signal }: CallOptions & { readonly isLiked: boolean },
  ): Promise<number> {
    const path = parsePromptPath(identifier);
    const json = { like: isLiked };
    const response = await orNotFound(notFoundText(path), () =>
      this.#call("likePrompt", { path: { ...path }, json, signal }),
    );
    return new Fields(response, "count of likes").number("likes");
  }
}

/** Whose prompt it is that one call names. Asks for the tenant when it must know, and once at most. */
class PromptOwnership {
  readonly #tenant: Tenant;
  readonly #signal: AbortSignal | undefined;
  #settings: Promise<TenantSettings> | undefined;

  constructor(tenant: Tenant, { signal }: CallOptions) {
    this.#tenant = tenant;
    this.#signal = signal;
  }

  settings(): Promise<TenantSettings> {
    this.#settings ??= this.#tenant.settings({ signal: this.#signal });
    return this.#settings;
  }

  async isOwn(owner: string): Promise<boolean> {
    return owner === ownOwner || owner === (await this.settings()).handle;
  }

  /**
   * The words are the specification's (section 5).
   *
   * @throws {@link ValidationError} the prompt is someone else's.
   */
  async assertOwn(action: string, owner: string): Promise<void> {
    if (!(await this.isOwn(owner))) {
      const { handle } = await this.settings();
      const current = handle === undefined ? "it has no handle" : `its handle is ${handle}`;
      throw new ValidationError(
        `Cannot ${action} for another tenant: ${owner} owns it, and of the current tenant ${current}`,
      );
    }
  }

  /** @throws {@link ValidationError} the prompt is to be public, and there is no handle for it to stand under. */
  async assertPublishable(isPublic: boolean | undefined): Promise<void> {
    if (isPublic === true && (await this.settings()).handle === undefined) {
      throw new ValidationError(
        "Cannot make a public prompt without a hub handle. Set one with client.tenant.setHandle, or make a first public prompt on the server's page",
      );
    }
  }

  /** The address of a page, which differs by whose the prompt is (specification, section 2). */
  async urlOf(page: PromptPage, host: string): Promise<string> {
    return (await this.isOwn(page.owner))
      ? ownPromptUrl(host, page, (await this.settings()).id)
      : hubPromptUrl(host, page);
  }
}
