import { createHash, randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { handleLimit, isPromptTag, looksLikeHash } from "millrace/model";
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
import { toSearchText } from "./prompt-row.ts";
import { parseRows } from "../storage/sqlite/rows.ts";
import type { Connection } from "../storage/sqlite/connection.ts";

/** The form of handles that clients of the platform require. */
const handlePattern = /^[a-z][a-z0-9_-]*$/;

/** Writes prompts, their commits, tags and likes. */
export class PromptWriter implements PromptWrites {
  readonly #access: PromptAccess;
  readonly #reader: PromptReader;
  readonly #statements;
  #lastMicros = 0;

  constructor(db: Connection) {
    this.#access = new PromptAccess(db);
    this.#reader = new PromptReader(db);
    this.#statements = {
      handle: db.prepare("SELECT handle FROM tenants WHERE id = ?").raw(),
      findOwned: db.prepare("SELECT id FROM prompts WHERE id = ? AND tenant_id = ?").raw(),
      insert: db.prepare(
        `INSERT INTO prompts (id, tenant_id, handle, repo_type, is_public, is_archived, created_us, updated_us,
           likes, downloads, views, commits, search, fields_json)
         VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, ?6, 0, 0, 0, 0, ?7, ?8)`,
      ),
      update: db.prepare(
        "UPDATE prompts SET is_public = ?, is_archived = ?, updated_us = ?, search = ?, fields_json = ? WHERE id = ?",
      ),
      deletes: [
        "DELETE FROM prompt_likes WHERE prompt_id = ?",
        "DELETE FROM prompt_tags WHERE prompt_id = ?",
        "DELETE FROM prompt_commits WHERE prompt_id = ?",
        "DELETE FROM prompts WHERE id = ?",
      ].map((sql) => db.prepare(sql)),
      like: db.prepare("INSERT OR IGNORE INTO prompt_likes (prompt_id, tenant_id) VALUES (?, ?)"),
      unlike: db.prepare("DELETE FROM prompt_likes WHERE prompt_id = ? AND tenant_id = ?"),
      countLikes: db.prepare(
        "UPDATE prompts SET likes = (SELECT count(*) FROM prompt_likes WHERE prompt_id = ?1) WHERE id = ?1",
      ),
      manifest: db.prepare("SELECT manifest, number FROM prompt_commits WHERE id = ?").raw(),
      commit: db.prepare(
        `INSERT INTO prompt_commits (id, tenant_id, prompt_id, number, hash, parent_id, parent_hash, created_us,
           downloads, views, description_json, manifest)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?, ?)`,
      ),
      updateLatest: db.prepare(
        "UPDATE prompts SET commits = commits + 1, last_hash = ?, updated_us = ? WHERE id = ?",
      ),
      commitOf: db.prepare("SELECT 1 FROM prompt_commits WHERE id = ? AND prompt_id = ?").raw(),
      tag: db.prepare(
        `INSERT INTO prompt_tags (prompt_id, name, tenant_id, id, commit_id, created_us, updated_us)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)
         ON CONFLICT (prompt_id, name) DO UPDATE SET commit_id = ?5, updated_us = ?6`,
      ),
      untag: db.prepare("DELETE FROM prompt_tags WHERE prompt_id = ? AND name = ?"),
      counts: (["downloads", "views"] as const).map((counter) => ({
        counter,
        statements: [
          `UPDATE prompts SET ${counter} = ${counter} + 1 WHERE id = (SELECT prompt_id FROM prompt_commits WHERE id = ?)`,
          `UPDATE prompt_commits SET ${counter} = ${counter} + 1 WHERE id = ?`,
        ].map((sql) => db.prepare(sql)),
      })),
    };
  }

  create(tenantId: string, { handle, repoType, isPublic, fields }: PromptDraft): Prompt {
    if (handle.length > handleLimit || !handlePattern.test(handle)) {
      throw new RequestError(
        422,
        `repo_handle must have 1 to ${handleLimit} lower-case letters, digits, - and _, and begin with a letter, not ${JSON.stringify(handle.slice(0, 64))}`,
      );
    }
    if (this.#access.find(tenantId, { owner: "-", repo: handle }) !== undefined) {
      throw new RequestError(409, `A prompt with the handle ${handle} already exists.`);
    }
    this.#assertPublishable(tenantId, isPublic);
    const id = randomUUID();
    const values = [id, tenantId, handle, repoType, Number(isPublic), this.#now()];
    this.#statements.insert.run([...values, searchOf(handle, fields), JSON.stringify(fields)]);
    return this.#reader.read(tenantId, id);
  }

  update(tenantId: string, location: PromptLocation, changes: PromptChanges): Prompt {
    const { id } = this.#access.readOwned(tenantId, location);
    const prompt = this.#reader.read(tenantId, id);
    const isPublic = changes.isPublic ?? prompt.isPublic;
    this.#assertPublishable(tenantId, isPublic);
    const fields: PromptFields = {
      description: changes.description ?? prompt.fields.description,
      readme: changes.readme ?? prompt.fields.readme,
      tags: changes.tags ?? prompt.fields.tags,
      restrictedMode: changes.restrictedMode ?? prompt.fields.restrictedMode,
      source: prompt.fields.source,
    };
    this.#statements.update.run([
      Number(isPublic),
      Number(changes.isArchived ?? prompt.isArchived),
      this.#now(),
      searchOf(prompt.handle, fields),
      JSON.stringify(fields),
      id,
    ]);
    return this.#reader.read(tenantId, id);
  }

  delete(tenantId: string, location: PromptLocation): string {
    const { id } = this.#access.readOwned(tenantId, location);
    this.#delete(id);
    return id;
  }

  deleteMany(tenantId: string, ids: readonly string[]): readonly string[] {
    const ownedIds = ids.filter((id) => this.#statements.findOwned.all([id, tenantId]).length > 0);
    ownedIds.forEach((id) => this.#delete(id));
    return ownedIds;
  }

  like(tenantId: string, location: PromptLocation, isLiked: boolean): number {
    const { id } = this.#access.read(tenantId, location);
    (isLiked ? this.#statements.like : this.#statements.unlike).run([id, tenantId]);
    this.#statements.countLikes.run([id]);
    return this.#reader.read(tenantId, id).likes;
  }

  commit(tenantId: string, location: PromptLocation, draft: CommitDraft): PromptCommit {
    const prompt = this.#access.readOwned(tenantId, location);
    const latest = this.#access.latest(prompt.id);
    this.#assertLatest(prompt, draft.parent, latest);
    const [values] =
      latest === undefined ? [] : parseRows(this.#statements.manifest.all([latest.id]));
    if (values !== undefined && isSameJson(String(values[0]), draft.manifest)) {
      throw new RequestError(409, "Nothing to commit: prompt has not changed since latest commit");
    }
    const id = randomUUID();
    const hash = hashOf(latest?.hash ?? "", draft.manifest);
    const now = this.#now();
    this.#statements.commit.run([
      id,
      tenantId,
      prompt.id,
      Number(values?.[1] ?? 0) + 1,
      hash,
      latest?.id ?? null,
      latest?.hash ?? null,
      now,
      draft.description === null ? null : JSON.stringify(draft.description),
      draft.manifest,
    ]);
    this.#statements.updateLatest.run([hash, now, prompt.id]);
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

  writeTag(
    tenantId: string,
    location: PromptLocation,
    { name, commitId, mustExist }: TagDraft,
  ): PromptTag {
    const prompt = this.#access.readOwned(tenantId, location);
    assertTag(name);
    if (mustExist) {
      this.#reader.readTag(tenantId, location, name);
    }
    if (this.#statements.commitOf.all([commitId, prompt.id]).length === 0) {
      throw new RequestError(404, "Commit not found");
    }
    const values = [prompt.id, name, tenantId, randomUUID(), commitId, this.#now()];
    this.#statements.tag.run(values);
    return this.#reader.readTag(tenantId, location, name);
  }

  deleteTag(tenantId: string, location: PromptLocation, name: string): void {
    const { id } = this.#access.readOwned(tenantId, location);
    this.#reader.readTag(tenantId, location, name);
    this.#statements.untag.run([id, name]);
  }

  count(id: string, counter: "downloads" | "views"): void {
    this.#statements.counts
      .filter((entry) => entry.counter === counter)
      .forEach(({ statements }) => statements.forEach((statement) => statement.run([id])));
  }

  /** The current time, strictly increasing, so that lists ordered by time show the last change first. */
  #now(): number {
    this.#lastMicros = Math.max(Date.now() * 1_000, this.#lastMicros + 1);
    return this.#lastMicros;
  }

  #delete(id: string): void {
    this.#statements.deletes.forEach((statement) => statement.run([id]));
  }

  /** @throws RequestError 422: it would be public, but its tenant has no handle, so it would have no address. */
  #assertPublishable(tenantId: string, isPublic: boolean): void {
    const [values] = isPublic ? parseRows(this.#statements.handle.all([tenantId])) : [];
    if (isPublic && typeof values?.[0] !== "string") {
      throw new RequestError(
        422,
        "a public prompt is addressed by its tenant's handle, and this tenant has none: set one with POST /settings/handle {tenant_handle}",
      );
    }
  }

  /** @throws RequestError 409: the parent is not the latest commit. */
  #assertLatest({ id }: PromptKey, parent: string | null, latest: PromptCommit | undefined): void {
    if (parent === null) {
      if (latest !== undefined) {
        throw new RequestError(
          409,
          `parent_commit is missing: the latest commit is ${latest.hash}`,
        );
      }
      return;
    }
    const found = this.#access.findCommit(id, parent);
    if (found === undefined) {
      throw new RequestError(
        409,
        "parent_commit must be the hash of a commit of this prompt; omit it for the first commit",
      );
    }
    if (found.id !== latest?.id) {
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

const searchOf = (handle: string, { description }: PromptFields): string =>
  toSearchText(`${handle}\n${description ?? ""}`);

/**
 * Depends on the manifest and the parent only, so committing the same manifest on the same parent gives the same
 * hash.
 */
const hashOf = (parentHash: string, manifest: string): string =>
  createHash("sha256").update(`${parentHash}\n`).update(manifest).digest("hex");

/** Compares two JSON texts regardless of the order of members; that order does not change their length. */
const isSameJson = (a: string, b: string): boolean =>
  a === b || (a.length === b.length && isDeepStrictEqual(JSON.parse(a), JSON.parse(b)));
