import { isDeepStrictEqual } from "node:util";
import {
  ConflictError,
  HttpError,
  InsufficientQuotaError,
  NotFoundError,
} from "../../model/errors.ts";
import { Fields, omitUndefined, parseList } from "../../model/fields.ts";
import {
  parseCreatedCommit,
  parsePromptCommit,
  parsePromptTag,
  parsePulledPrompt,
} from "../../model/resources/prompt.ts";
import type { PromptCommit, PromptTag, PulledPrompt } from "../../model/resources/prompt.ts";
import {
  isCommitHash,
  isNewHandle,
  looksLikeHash,
  ownOwner,
} from "../../model/resources/prompt-identifier.ts";
import type { PromptPath, PromptReference } from "../../model/resources/prompt-identifier.ts";
import type { KeyValues } from "../../model/run.ts";
import type { Call, CallOptions } from "../http/http.ts";
import type { CallInit } from "../http/request.ts";
import { listByOffset } from "../http/pages.ts";
import type { Pages } from "../http/pages.ts";
import { promptMustExistMessage, requestOrNotFound } from "./prompt-fields.ts";
import type { ListCommits, PullPrompt } from "./prompt-options.ts";
import type { ServerInfoReader } from "../http/server-info.ts";

/** A commit to create. */
export interface CommitDraft extends CallOptions {
  readonly manifest: KeyValues;
  /** Hash of the parent commit, or its first characters. If absent or `latest`, the latest commit is the parent. */
  readonly parentCommit?: string | undefined;
  readonly description?: string | undefined;
  readonly tags?: readonly string[] | undefined;
}

/** The maximum number of attempts of a request. */
type Attempts = Pick<CallInit, "attempts">;

/** The commits of prompts. Used by {@link Prompts}. */
export class PromptCommits {
  readonly #call: Call;
  readonly #info: ServerInfoReader;

  constructor(call: Call, info: ServerInfoReader) {
    this.#call = call;
    this.#info = info;
  }

  /** Lists commits, newest first. */
  list({ owner, repo }: PromptPath, { tag, limit, signal }: ListCommits): Pages<PromptCommit> {
    return listByOffset(
      limit,
      async (page) =>
        parseCommits(
          await this.#call("listCommits", {
            path: { owner, repo },
            query: { tag, ...page },
            signal,
          }),
        ),
      ({ commitHash }) => commitHash,
    );
  }

  /**
   * Returns the latest commit, or `undefined` if the prompt has none. The error messages are the same as in LangSmith's
   * client.
   */
  async findLatest(
    { owner, repo }: PromptPath,
    { signal, attempts }: CallOptions & Attempts,
  ): Promise<PromptCommit | undefined> {
    try {
      const init = { path: { owner, repo }, query: { limit: 1, offset: 0 }, signal, attempts };
      const response = await this.#call("listCommits", init);
      return parseCommits(response)[0];
    } catch (error) {
      throw error instanceof HttpError ? toLookUpError(error) : error;
    }
  }

  /**
   * Creates a commit and its tags.
   *
   * @throws {@link ConflictError} if a commit newer than the parent exists, or the latest commit has the same
   * manifest.
   */
  async create(promptPath: PromptPath, draft: CommitDraft): Promise<PromptCommit> {
    const commit = await this.#create(promptPath, draft);
    await this.#writeTags(promptPath, commit, draft);
    return commit;
  }

  /** Like {@link PromptCommits.create}, but returns the latest commit if it has the same manifest. */
  async createIfChanged(
    promptPath: PromptPath,
    draft: CommitDraft,
  ): Promise<{ readonly commitHash: string; readonly isCommitted: boolean }> {
    const created = await this.#createUnlessSame(promptPath, draft);
    const commit = created ?? (await this.#readLatest(promptPath, draft));
    await this.#writeTags(promptPath, commit, draft);
    return { commitHash: commit.commitHash, isCommitted: created !== undefined };
  }

  /** Reads a commit. If the server can't resolve `latest`, the hash of the latest commit is looked up first. */
  async pull(
    reference: PromptReference,
    { includeModel, signal, attempts }: PullPrompt & Attempts,
  ): Promise<PulledPrompt> {
    const { owner, repo } = reference;
    const commit = reference.commit ?? (await this.#resolveLatest(reference, { signal, attempts }));
    const query = { include_model: includeModel === true ? true : undefined };
    const init = { path: { owner, repo, commit }, query, signal, attempts };
    try {
      return parsePulledPrompt(await this.#call("readCommit", init), reference);
    } catch (error) {
      throw error instanceof NotFoundError ? explainNotFound(error, reference) : error;
    }
  }

  async readTag(
    { owner, repo }: PromptPath,
    { tag, signal }: CallOptions & { readonly tag: string },
  ): Promise<PromptTag> {
    return parsePromptTag(
      await this.#call("readPromptTag", { path: { owner, repo, tag }, signal }),
    );
  }

  /** Creates the tag, or moves an existing tag of that name to the commit. */
  async writeTag(
    { owner, repo }: PromptPath,
    { tag, commitId, signal }: CallOptions & { readonly tag: string; readonly commitId: string },
  ): Promise<PromptTag> {
    try {
      const json = { tag_name: tag, commit_id: commitId };
      return parsePromptTag(
        await this.#call("createPromptTag", { path: { owner, repo }, json, signal }),
      );
    } catch (error) {
      if (!(error instanceof ConflictError)) {
        throw error;
      }
      const json = { commit_id: commitId };
      return parsePromptTag(
        await this.#call("updatePromptTag", { path: { owner, repo, tag }, json, signal }),
      );
    }
  }

  /**
   * Finds the id of a commit in the tags or in the list of commits, because the server's response to reading a commit
   * does not contain the id.
   */
  async findCommitId(reference: PromptReference, { signal }: CallOptions): Promise<string> {
    const { commit } = reference;
    const tag = await this.#findTag(reference, { signal });
    if (tag !== undefined) {
      return tag.commitId;
    }
    for await (const { id, commitHash } of this.list(reference, { signal })) {
      if (id !== undefined && (commit === undefined || commitHash.startsWith(commit))) {
        return id;
      }
    }
    throw commit === undefined
      ? createNoCommitsError(reference)
      : createNotFoundError(
          `Commit ${commit} not found in ${reference.owner}/${reference.repo}. List them with client.prompts.listCommits`,
        );
  }

  async #create({ owner, repo }: PromptPath, draft: CommitDraft): Promise<PromptCommit> {
    const { manifest, parentCommit = "latest", description, signal } = draft;
    const findLatest = (): Promise<PromptCommit | undefined> =>
      requestOrNotFound(promptMustExistMessage, () => this.findLatest({ owner, repo }, { signal }));
    const parent = parentCommit === "latest" ? (await findLatest())?.commitHash : parentCommit;
    const json = omitUndefined({ manifest, parent_commit: parent, description });
    try {
      return parseCreatedCommit(
        await this.#call("createCommit", { path: { owner, repo }, json, signal }),
      );
    } catch (error) {
      const isConflict = error instanceof ConflictError;
      if (!isConflict && !(error instanceof NotFoundError)) {
        throw error;
      }
      // Find the reason for the failure. If the prompt itself does not exist, this query throws. Otherwise the parent
      // is missing or outdated, or the latest commit has the same manifest.
      const latest = (await findLatest())?.commitHash;
      throw isConflict ? explainConflict(error, { parent, latest }) : error;
    }
  }

  /** Creates a commit, or returns `undefined` if the latest commit already has the same manifest. */
  async #createUnlessSame(
    promptPath: PromptPath,
    draft: CommitDraft,
  ): Promise<PromptCommit | undefined> {
    try {
      return await this.#create(promptPath, draft);
    } catch (error) {
      if (!(error instanceof ConflictError)) {
        throw error;
      }
      // Servers report this case in different ways, so compare the manifests instead of the messages.
      const { manifest } = await this.pull(promptPath, { signal: draft.signal });
      if (!isDeepStrictEqual(manifest, draft.manifest)) {
        throw error;
      }
      return undefined;
    }
  }

  async #writeTags(
    promptPath: PromptPath,
    { id, commitHash }: PromptCommit,
    { tags = [], signal }: CommitDraft,
  ): Promise<void> {
    if (tags.length === 0) {
      return;
    }
    const commitId =
      id ?? (await this.findCommitId({ ...promptPath, commit: commitHash }, { signal }));
    await Promise.all(tags.map((tag) => this.writeTag(promptPath, { tag, commitId, signal })));
  }

  /**
   * Returns the hash of the commit that the reference names. If the reference contains only the beginning of the hash,
   * returns that beginning. Returns `undefined` for the latest commit.
   */
  async findCommitHash(
    reference: PromptReference,
    { signal }: CallOptions,
  ): Promise<string | undefined> {
    return (await this.#findTag(reference, { signal }))?.commitHash ?? reference.commit;
  }

  /**
   * Returns the tag that the reference names, or `undefined` if it names a hash or the latest commit. A short name that
   * could be a tag or the beginning of a hash is treated as a tag if such a tag exists.
   */
  async #findTag(
    reference: PromptReference,
    { signal }: CallOptions,
  ): Promise<PromptTag | undefined> {
    const { commit: tag } = reference;
    if (tag === undefined || looksLikeHash(tag)) {
      return undefined;
    }
    try {
      return await this.readTag(reference, { tag, signal });
    } catch (error) {
      if (error instanceof NotFoundError && isCommitHash(tag)) {
        return undefined;
      }
      throw error;
    }
  }

  async #resolveLatest(promptPath: PromptPath, options: CallOptions & Attempts): Promise<string> {
    if ((await this.#info.read(options)).resolvesLatestCommit) {
      return "latest";
    }
    return (await this.#readLatest(promptPath, options)).commitHash;
  }

  async #readLatest(
    promptPath: PromptPath,
    { signal, attempts }: CallOptions & Attempts,
  ): Promise<PromptCommit> {
    const latest = await this.findLatest(promptPath, { signal, attempts });
    if (latest === undefined) {
      throw createNoCommitsError(promptPath);
    }
    return latest;
  }
}

const parseCommits = (value: unknown): PromptCommit[] =>
  parseList(
    new Fields(value, "list of commits").readValue("commits"),
    "commits",
    parsePromptCommit,
  );

/** Converts an error that occurred while looking up commits. The messages are the same as in LangSmith's client. */
function toLookUpError(error: HttpError): HttpError {
  if (error instanceof InsufficientQuotaError) {
    return error;
  }
  const { status, detail, requestId } = error;
  // An import of `node:http` would take 30 ms in Node 24, because it would also load the parts that the module
  // otherwise loads on demand.
  const reason = process.getBuiltinModule("node:http").STATUS_CODES[status] ?? "";
  const message = `Error ${status}: ${reason}\n${detail}`.trimEnd();
  const init = { action: "list commits", status, body: detail, message, cause: error, requestId };
  return status === 404 ? new NotFoundError(init) : new HttpError(init);
}

/** Adds the hash of the latest commit to the message of a conflict, if that commit is newer than the parent. */
function explainConflict(
  cause: ConflictError,
  { parent, latest }: { readonly parent: string | undefined; readonly latest: string | undefined },
): ConflictError {
  // Only the server can resolve a tag, so a tag can't be compared with the latest hash.
  const isParentComparable = parent === undefined || isCommitHash(parent);
  if (
    latest === undefined ||
    !isParentComparable ||
    (parent !== undefined && latest.startsWith(parent))
  ) {
    return cause;
  }
  const { status, detail, requestId } = cause;
  const message = `Failed to create commit: a newer commit exists. The latest is ${latest}, the parent was ${parent ?? "none"}: pull it, and commit on top of it`;
  return new ConflictError({
    action: "create commit",
    status,
    body: detail,
    message,
    cause,
    requestId,
  });
}

/**
 * Adds to the server's message which prompt or version is missing, and how to create it. The server's message is kept,
 * because only the server can distinguish a missing prompt from a missing version.
 */
function explainNotFound(
  cause: NotFoundError,
  { owner, repo, commit }: PromptReference,
): NotFoundError {
  const { status, detail, requestId } = cause;
  const name = owner === ownOwner ? repo : `${owner}/${repo}`;
  const action = "pull prompt commit";
  const problem = `Failed to ${action}: ${status} ${detail}`.trimEnd();
  const message = `${problem}. ${createMissingText(name, commit)}. If the prompt itself is missing, check its name, the endpoint and the tenant of the key`;
  return new NotFoundError({ action, status, body: detail, message, cause, requestId });
}

function createMissingText(name: string, commit: string | undefined): string {
  if (commit === undefined) {
    const newName = toNewName(name);
    const nameNote =
      newName === name ? "" : "; names of new prompts are in lower case and begin with a letter";
    return `The latest commit of the prompt "${name}" was requested${nameNote}: client.prompts.push("${newName}", { manifest }) creates one`;
  }
  if (looksLikeHash(commit)) {
    return `The commit ${commit} of the prompt "${name}" was requested: client.prompts.listCommits("${name}") lists those that exist`;
  }
  return `The tag "${commit}" of the prompt "${name}" was requested: client.prompts.listTags("${name}") lists those that exist, client.prompts.tag("${name}", { tag: "${commit}" }) adds it to the latest commit, and client.prompts.push("${name}", { manifest, commitTags: ["${commit}"] }) to a new one`;
}

/** Converts the handle in a name to one that servers accept for a new prompt. */
function toNewName(name: string): string {
  const start = name.indexOf("/") + 1;
  const handle = name.slice(start).toLowerCase();
  return name.slice(0, start) + (isNewHandle(handle) ? handle : `prompt-${handle}`);
}

const createNoCommitsError = ({ owner, repo }: PromptPath): NotFoundError =>
  createNotFoundError(
    `No commits found for the prompt ${owner}/${repo}. Create the first one with client.prompts.push("${owner}/${repo}", { manifest })`,
  );

const createNotFoundError = (message: string): NotFoundError =>
  new NotFoundError({ action: "pull prompt commit", status: 404, body: "", message });
