import { createHash, randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { handleLimit, isNewHandle, isPromptTag, looksLikeHash, ownOwner } from "millrace/model";
import { RequestError } from "../model/errors.ts";
import type {
  CommitDraft,
  Prompt,
  PromptChanges,
  PromptCommit,
  PromptDraft,
  PromptFields,
  PromptLocation,
  PromptTag,
  PromptWrites,
  TagDraft,
} from "./prompt.ts";
import { PromptAccess } from "./prompt-access.ts";
import type { PromptKey } from "./prompt-access.ts";
import { PromptReader } from "./prompt-reader.ts";
import { promptQueries } from "./prompt-queries.ts";
import { toSearchText } from "./prompt-row.ts";
import type { Database } from "../storage/query.ts";

/** Writes prompts, their commits, tags and likes. */
export class PromptWriter implements PromptWrites {
  readonly #db: Database;
  readonly #access: PromptAccess;
  readonly #reader: PromptReader;
  #lastMicros = 0;

  constructor(db: Database) {
    this.#db = db;
    this.#access = new PromptAccess(db);
    this.#reader = new PromptReader(db);
  }

  async create(
    tenantId: string,
    { handle, repoType, isPublic, fields }: PromptDraft,
  ): Promise<Prompt> {
    if (!isNewHandle(handle)) {
      throw new RequestError(
        422,
        `repo_handle must have 1 to ${handleLimit} lower-case letters, digits, - and _, and begin with a letter, not ${JSON.stringify(handle.slice(0, 64))}`,
      );
    }
    if ((await this.#access.find(tenantId, { owner: ownOwner, repo: handle })) !== undefined) {
      throw new RequestError(409, `A prompt with the handle ${handle} already exists.`);
    }
    await this.#assertPublishable(tenantId, isPublic);
    const id = randomUUID();
    const now = this.#readTime();
    await this.#db.run(promptQueries.insert, {
      id,
      tenant_id: tenantId,
      handle,
      repo_type: repoType,
      is_public: Number(isPublic),
      is_archived: 0,
      created_us: now,
      updated_us: now,
      likes: 0,
      downloads: 0,
      views: 0,
      commits: 0,
      last_hash: null,
      search: createSearchText(handle, fields),
      fields_json: JSON.stringify(fields),
    });
    return this.#reader.read(tenantId, id);
  }

  async update(
    tenantId: string,
    location: PromptLocation,
    changes: PromptChanges,
  ): Promise<Prompt> {
    const { id } = await this.#access.readOwned(tenantId, location);
    const prompt = await this.#reader.read(tenantId, id);
    const isPublic = changes.isPublic ?? prompt.isPublic;
    await this.#assertPublishable(tenantId, isPublic);
    const fields: PromptFields = {
      description: changes.description ?? prompt.fields.description,
      readme: changes.readme ?? prompt.fields.readme,
      tags: changes.tags ?? prompt.fields.tags,
      restrictedMode: changes.restrictedMode ?? prompt.fields.restrictedMode,
      source: prompt.fields.source,
    };
    await this.#db.run(promptQueries.update, {
      id,
      is_public: Number(isPublic),
      is_archived: Number(changes.isArchived ?? prompt.isArchived),
      updated_us: this.#readTime(),
      search: createSearchText(prompt.handle, fields),
      fields_json: JSON.stringify(fields),
    });
    return this.#reader.read(tenantId, id);
  }

  async delete(tenantId: string, location: PromptLocation): Promise<string> {
    const { id } = await this.#access.readOwned(tenantId, location);
    await this.#delete(id);
    return id;
  }

  async deleteMany(tenantId: string, ids: readonly string[]): Promise<readonly string[]> {
    const ownedIds: string[] = [];
    for (const id of ids) {
      if ((await this.#db.first(promptQueries.findOwned, { id, tenantId })) !== undefined) {
        ownedIds.push(id);
      }
    }
    for (const id of ownedIds) {
      await this.#delete(id);
    }
    return ownedIds;
  }

  async like(tenantId: string, location: PromptLocation, shouldLike: boolean): Promise<number> {
    const { id } = await this.#access.read(tenantId, location);
    await this.#db.run(shouldLike ? promptQueries.like : promptQueries.unlike, { id, tenantId });
    await this.#db.run(promptQueries.countLikes, { id });
    return (await this.#reader.read(tenantId, id)).likes;
  }

  async commit(
    tenantId: string,
    location: PromptLocation,
    draft: CommitDraft,
  ): Promise<PromptCommit> {
    const prompt = await this.#access.readOwned(tenantId, location);
    const latest = await this.#access.readLatest(prompt.id);
    await this.#assertLatest(prompt, draft.parent, latest);
    const previous =
      latest === undefined
        ? undefined
        : await this.#db.first(promptQueries.readManifest, { id: latest.id });
    if (previous !== undefined && isSameJson(previous.manifest, draft.manifest)) {
      throw new RequestError(409, "Nothing to commit: prompt has not changed since latest commit");
    }
    const id = randomUUID();
    const hash = computeHash(latest?.hash ?? "", draft.manifest);
    const now = this.#readTime();
    await this.#db.run(promptQueries.insertCommit, {
      id,
      tenant_id: tenantId,
      prompt_id: prompt.id,
      number: (previous?.number ?? 0) + 1,
      hash,
      parent_id: latest?.id ?? null,
      parent_hash: latest?.hash ?? null,
      created_us: now,
      downloads: 0,
      views: 0,
      description_json: draft.description === null ? null : JSON.stringify(draft.description),
      manifest: draft.manifest,
    });
    await this.#db.run(promptQueries.updateLatest, { id: prompt.id, hash, now });
    return {
      id,
      promptId: prompt.id,
      hash,
      parentId: latest?.id ?? null,
      parentHash: latest?.hash ?? null,
      description: draft.description,
      createdMicros: now,
      downloads: 0,
      views: 0,
    };
  }

  async writeTag(
    tenantId: string,
    location: PromptLocation,
    { name, commitId, mustExist }: TagDraft,
  ): Promise<PromptTag> {
    const { id: promptId } = await this.#access.readOwned(tenantId, location);
    assertTag(name);
    if (mustExist) {
      await this.#reader.readTag(tenantId, location, name);
    }
    if (
      (await this.#db.first(promptQueries.findCommit, { id: commitId, promptId })) === undefined
    ) {
      throw new RequestError(404, "Commit not found");
    }
    const now = this.#readTime();
    await this.#db.run(promptQueries.writeTag, {
      prompt_id: promptId,
      name,
      tenant_id: tenantId,
      id: randomUUID(),
      commit_id: commitId,
      created_us: now,
      updated_us: now,
    });
    return this.#reader.readTag(tenantId, location, name);
  }

  async deleteTag(tenantId: string, location: PromptLocation, name: string): Promise<void> {
    const { id: promptId } = await this.#access.readOwned(tenantId, location);
    await this.#reader.readTag(tenantId, location, name);
    await this.#db.run(promptQueries.deleteTag, { promptId, name });
  }

  async count(commitId: string, counter: "downloads" | "views"): Promise<void> {
    const isDownload = counter === "downloads";
    const { countDownload, countCommitDownload, countView, countCommitView } = promptQueries;
    await this.#db.run(isDownload ? countDownload : countView, { commitId });
    await this.#db.run(isDownload ? countCommitDownload : countCommitView, { commitId });
  }

  /**
   * Returns the current time. Each call returns a later time, so that lists ordered by time show the last change
   * first.
   */
  #readTime(): number {
    this.#lastMicros = Math.max(Date.now() * 1_000, this.#lastMicros + 1);
    return this.#lastMicros;
  }

  async #delete(id: string): Promise<void> {
    const { deleteLikes, deleteTags, deleteCommits } = promptQueries;
    for (const query of [deleteLikes, deleteTags, deleteCommits, promptQueries.delete]) {
      await this.#db.run(query, { id });
    }
  }

  /**
   * Checks whether a prompt can be public.
   *
   * @throws RequestError 422: the tenant has no handle, so the prompt would have no address.
   */
  async #assertPublishable(tenantId: string, isPublic: boolean): Promise<void> {
    const tenant = isPublic
      ? await this.#db.first(promptQueries.readHandle, { tenantId })
      : undefined;
    if (isPublic && typeof tenant?.handle !== "string") {
      throw new RequestError(
        422,
        "a public prompt is addressed by its tenant's handle, and this tenant has none: set one with POST /settings/handle {tenant_handle}",
      );
    }
  }

  /**
   * Checks that a new commit follows the latest one.
   *
   * @throws RequestError 409: the parent is not the latest commit.
   */
  async #assertLatest(
    { id }: PromptKey,
    parent: string | null,
    latest: PromptCommit | undefined,
  ): Promise<void> {
    if (parent === null) {
      if (latest !== undefined) {
        throw new RequestError(
          409,
          `parent_commit is missing: the latest commit is ${latest.hash}`,
        );
      }
      return;
    }
    const parentCommit = await this.#access.findCommit(id, parent);
    if (parentCommit === undefined) {
      throw new RequestError(
        409,
        "parent_commit must be the hash of a commit of this prompt; omit it for the first commit",
      );
    }
    if (parentCommit.id !== latest?.id) {
      throw new RequestError(
        409,
        `parent_commit is not the latest commit: a newer commit exists, ${String(latest?.hash)}`,
      );
    }
  }
}

function assertTag(name: string): void {
  if (!isPromptTag(name) || looksLikeHash(name)) {
    throw new RequestError(
      422,
      `tag_name must have 1 to ${handleLimit} letters, digits, ., - and _, begin with a letter or digit, and be neither "latest" nor look like a hash`,
    );
  }
}

const createSearchText = (handle: string, { description }: PromptFields): string =>
  toSearchText(`${handle}\n${description ?? ""}`);

/**
 * Computes the hash of a commit. It depends on the manifest and the parent only, so committing the same manifest on
 * the same parent results in the same hash.
 */
const computeHash = (parentHash: string, manifest: string): string =>
  createHash("sha256").update(`${parentHash}\n`).update(manifest).digest("hex");

/**
 * Whether two JSON texts are equal, regardless of the order of members. That order does not change the length, so
 * texts of different lengths differ.
 */
const isSameJson = (a: string, b: string): boolean =>
  a === b || (a.length === b.length && isDeepStrictEqual(JSON.parse(a), JSON.parse(b)));
