import { STATUS_CODES } from "node:http";
import { isDeepStrictEqual } from "node:util";
import {
  ConflictError,
  HttpError,
  InsufficientQuotaError,
  NotFoundError,
} from "../../model/errors.ts";
import { Fields, definedOf, parseList } from "../../model/fields.ts";
import {
  parseMadeCommit,
  parsePromptCommit,
  parsePromptTag,
  parsePulledPrompt,
} from "../../model/resources/prompt.ts";
import type { PromptCommit, PromptTag, PulledPrompt } from "../../model/resources/prompt.ts";
import { isCommitHash, looksLikeHash } from "../../model/resources/prompt-identifier.ts";
import type { PromptPath, PromptReference } from "../../model/resources/prompt-identifier.ts";
import type { KeyValues } from "../../model/run.ts";
import type { Call, CallOptions } from "../http/http.ts";
import { pagesByOffset } from "../http/pages.ts";
import type { Pages } from "../http/pages.ts";
import { mustExistText, orNotFound } from "./prompt-fields.ts";
import type { ListCommits, PullPrompt } from "./prompt-options.ts";
import type { ServerInfoReader } from "../http/server-info.ts";

export interface CommitDraft extends CallOptions {
  readonly manifest: KeyValues;
  /** A commit's hash, or the beginning of one. Absent or `latest`: the latest. */
  readonly parentCommit?: string | undefined;
  readonly description?: string | undefined;
  readonly tags?: readonly string[] | undefined;
}

/** The commits of prompts, behind {@link Prompts}. */
export class PromptCommits {
  readonly #call: Call;
  readonly #info: ServerInfoReader;

  constructor(call: Call, info: ServerInfoReader) {
    this.#call = call;
    this.#info = info;
  }

  /** The latest first. */
  list({ owner, repo }: PromptPath, { tag, limit, signal }: ListCommits): Pages<PromptCommit> {
    return pagesByOffset(limit, async (page) =>
      parseCommits(
        await this.#call("listCommits", { path: { owner, repo }, query: { tag, ...page }, signal }),
      ),
    );
  }

  /**
   * The latest commit; `undefined` where the prompt has no commit. Errors are worded as in the
   * specification (section 8).
   */
  async findLatest(
    { owner, repo }: PromptPath,
    { signal }: CallOptions,
  ): Promise<PromptCommit | undefined> {
    try {
      const query = { limit: 1, offset: 0 };
      const response = await this.#call("listCommits", { path: { owner, repo }, query, signal });
      return parseCommits(response)[0];
    } catch (error) {
      throw error instanceof HttpError ? lookUpError(error) : error;
    }
  }

  /** @throws {@link ConflictError} there is a newer commit than its parent, or the latest has its manifest. */
  async create(place: PromptPath, draft: CommitDraft): Promise<PromptCommit> {
    const commit = await this.#create(place, draft);
    await this.#tag(place, commit, draft);
    return commit;
  }

  /** As {@link PromptCommits.create}; where the latest has its manifest, that is the answer. */
  async ensure(
    place: PromptPath,
    draft: CommitDraft,
  ): Promise<{ readonly commitHash: string; readonly isCommitted: boolean }> {
    const made = await this.#createUnlessSame(place, draft);
    const commit = made ?? (await this.#requireLatest(place, draft));
    await this.#tag(place, commit, draft);
    return { commitHash: commit.commitHash, isCommitted: made !== undefined };
  }

  /** As section 4 of the specification has it: a server that can't resolve the latest is asked which that is. */
  async pull(
    reference: PromptReference,
    { includeModel, signal }: PullPrompt,
  ): Promise<PulledPrompt> {
    const { owner, repo } = reference;
    const commit = reference.commit ?? (await this.#nameOfLatest(reference, { signal }));
    const query = { include_model: includeModel === true ? true : undefined };
    const path = { owner, repo, commit };
    return parsePulledPrompt(await this.#call("readCommit", { path, query, signal }), reference);
  }

  async readTag(
    { owner, repo }: PromptPath,
    { tag, signal }: CallOptions & { readonly tag: string },
  ): Promise<PromptTag> {
    return parsePromptTag(
      await this.#call("readPromptTag", { path: { owner, repo, tag }, signal }),
    );
  }

  /** Makes the tag, or moves it where there is one of that name. */
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

  /** The id of a commit, which only lists and tags contain. */
  async idOf(reference: PromptReference, { signal }: CallOptions): Promise<string> {
    const { commit } = reference;
    const tag = await this.#tagOf(reference, { signal });
    if (tag !== undefined) {
      return tag.commitId;
    }
    for await (const { id, commitHash } of this.list(reference, { signal })) {
      if (id !== undefined && (commit === undefined || commitHash.startsWith(commit))) {
        return id;
      }
    }
    throw commit === undefined
      ? noCommits(reference)
      : notFound(
          `Commit ${commit} not found in ${reference.owner}/${reference.repo}. List them with client.prompts.listCommits`,
        );
  }

  async #create({ owner, repo }: PromptPath, draft: CommitDraft): Promise<PromptCommit> {
    const { manifest, parentCommit = "latest", description, signal } = draft;
    const findLatest = (): Promise<PromptCommit | undefined> =>
      orNotFound(mustExistText, () => this.findLatest({ owner, repo }, { signal }));
    const parent = parentCommit === "latest" ? (await findLatest())?.commitHash : parentCommit;
    const json = definedOf({ manifest, parent_commit: parent, description });
    try {
      return parseMadeCommit(
        await this.#call("createCommit", { path: { owner, repo }, json, signal }),
      );
    } catch (error) {
      const isConflict = error instanceof ConflictError;
      if (!isConflict && !(error instanceof NotFoundError)) {
        throw error;
      }
      // Only a failure is worth the question: is it the prompt that is missing, or the parent?
      const latest = (await findLatest())?.commitHash;
      throw isConflict ? explainedConflict(error, { parent, latest }) : error;
    }
  }

  /** `undefined` where the latest commit has the manifest already. */
  async #createUnlessSame(
    place: PromptPath,
    draft: CommitDraft,
  ): Promise<PromptCommit | undefined> {
    try {
      return await this.#create(place, draft);
    } catch (error) {
      if (!(error instanceof ConflictError)) {
        throw error;
      }
      // Servers report it in different ways, so the manifests are compared.
      const { manifest } = await this.pull(place, { signal: draft.signal });
      if (!isDeepStrictEqual(manifest, draft.manifest)) {
        throw error;
      }
      return undefined;
    }
  }

  async #tag(
    place: PromptPath,
    { id, commitHash }: PromptCommit,
    { tags = [], signal }: CommitDraft,
  ): Promise<void> {
    if (tags.length === 0) {
      return;
    }
    const commitId = id ?? (await this.idOf({ ...place, commit: commitHash }, { signal }));
    await Promise.all(tags.map((tag) => this.writeTag(place, { tag, commitId, signal })));
  }

  /** The hash of the commit that is named, as far as it is known; `undefined` for the latest. */
  async hashOf(reference: PromptReference, { signal }: CallOptions): Promise<string | undefined> {
    return (await this.#tagOf(reference, { signal }))?.commitHash ?? reference.commit;
  }

  /** The tag that is named; `undefined` where it is a hash, or the latest. A short name can be both: the tag wins. */
  async #tagOf(
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

  async #nameOfLatest(place: PromptPath, { signal }: CallOptions): Promise<string> {
    if ((await this.#info.read({ signal })).resolvesLatestCommit) {
      return "latest";
    }
    return (await this.#requireLatest(place, { signal })).commitHash;
  }

  async #requireLatest(place: PromptPath, { signal }: CallOptions): Promise<PromptCommit> {
    const latest = await this.findLatest(place, { signal });
    if (latest === undefined) {
      throw noCommits(place);
    }
    return latest;
  }
}

const parseCommits = (value: unknown): PromptCommit[] =>
  parseList(new Fields(value, "list of commits").value("commits"), "commits", parsePromptCommit);

/** The texts are the specification's (section 8). */
function lookUpError(error: HttpError): HttpError {
  if (error instanceof InsufficientQuotaError) {
    return error;
  }
  const { status, detail, requestId } = error;
  const message = `Error ${status}: ${STATUS_CODES[status] ?? ""}\n${detail}`.trimEnd();
  const init = { action: "list commits", status, body: detail, message, cause: error, requestId };
  return status === 404 ? new NotFoundError(init) : new HttpError(init);
}

/** A conflict that names the newer commit, where there is one. */
function explainedConflict(
  cause: ConflictError,
  { parent, latest }: { readonly parent: string | undefined; readonly latest: string | undefined },
): ConflictError {
  // A tag is the server's to resolve.
  const isHash = parent === undefined || isCommitHash(parent);
  if (latest === undefined || !isHash || (parent !== undefined && latest.startsWith(parent))) {
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

const noCommits = ({ owner, repo }: PromptPath): NotFoundError =>
  notFound(
    `No commits found for the prompt ${owner}/${repo}. Make the first with client.prompts.push("${owner}/${repo}", { manifest })`,
  );

const notFound = (message: string): NotFoundError =>
  new NotFoundError({ action: "pull prompt commit", status: 404, body: "", message });
