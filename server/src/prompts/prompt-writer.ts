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

/** What clients of the platform ask of a handle. */
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
      own: db.prepare("SELECT id FROM prompts WHERE id = ? AND tenant_id = ?").raw(),
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
      committed: db.prepare(
        "UPDATE prompts SET commits = commits + 1, last_hash = ?, updated_us = ? WHERE id = ?",
      ),
      commitOf: db.prepare("SELECT 1 FROM prompt_commits WHERE id = ? AND prompt_id = ?").raw(),
      tag: db.prepare(
        `INSERT INTO prompt_tags (prompt_id, name, tenant_id, id, commit_id, created_us, updated_us)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)
         ON CONFLICT (prompt_id, name) DO UPDATE SET commit_id = ?5, updated_us = ?6`,
      ),
      untag: db.prepare("DELETE FROM prompt_tags WHERE prompt_id = ? AND name = ?"),
      counts: (["downloads", "views"] as const).map((what) => ({
        what,
        statements: [
          `UPDATE prompts SET ${what} = ${what} + 1 WHERE id = (SELECT prompt_id FROM prompt_commits WHERE id = ?)`,
          `UPDATE prompt_commits SET ${what} = ${what} + 1 WHERE id = ?`,
        ].map((sql) => db.prepare(sql)),
      })),
    };
  }

  create(tenantId: string, { handle, repoType, isPublic, fields }: PromptDraft): Prompt {
    if (handle.length > handleLimit || !handlePattern.test(handle)) {
      throw new RequestError(
        422,
        `repo_handle is 1 to ${handleLimit} lower-case letters, digits, - and _, and begins with a letter, not ${JSON.stringify(handle.slice(0, 64))}`,
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

  update(tenantId: string, place: PromptLocation, changes: PromptChanges): Prompt {
    const { id } = this.#access.own(tenantId, place);
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

  delete(tenantId: string, place: PromptLocation): string {
    const { id } = this.#access.own(tenantId, place);
    this.#delete(id);
    return id;
  }

  deleteMany(tenantId: string, ids: readonly string[]): readonly string[] {
    const own = ids.filter((id) => this.#statements.own.all([id, tenantId]).length > 0);
    own.forEach((id) => this.#delete(id));
    return own;
  }

  like(tenantId: string, place: PromptLocation, isLiked: boolean): number {
    const { id } = this.#access.read(tenantId, place);
    (isLiked ? this.#statements.like : this.#statements.unlike).run([id, tenantId]);
    this.#statements.countLikes.run([id]);
    return this.#reader.read(tenantId, id).likes;
  }

  commit(tenantId: string, place: PromptLocation, draft: CommitDraft): PromptCommit {
    const prompt = this.#access.own(tenantId, place);
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
    this.#statements.committed.run([hash, now, prompt.id]);
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
    place: PromptLocation,
    { name, commitId, mustExist }: TagDraft,
  ): PromptTag {
    const prompt = this.#access.own(tenantId, place);
    assertTag(name);
    if (mustExist) {
      this.#reader.readTag(tenantId, place, name);
    }
    if (this.#statements.commitOf.all([commitId, prompt.id]).length === 0) {
      throw new RequestError(404, "Commit not found");
    }
    const values = [prompt.id, name, tenantId, randomUUID(), commitId, this.#now()];
    this.#statements.tag.run(values);
    return this.#reader.readTag(tenantId, place, name);
  }

  deleteTag(tenantId: string, place: PromptLocation, name: string): void {
    const { id } = this.#access.own(tenantId, place);
    this.#reader.readTag(tenantId, place, name);
    this.#statements.untag.run([id, name]);
  }

  count(id: string, what: "downloads" | "views"): void {
    this.#statements.counts
      .filter((one) => one.what === what)
      .forEach(({ statements }) => statements.forEach((statement) => statement.run([id])));
  }

  /** Never the same twice: what was changed last is listed first. */
  #now(): number {
    this.#lastMicros = Math.max(Date.now() * 1_000, this.#lastMicros + 1);
    return this.#lastMicros;
  }

  #delete(id: string): void {
    this.#statements.deletes.forEach((statement) => statement.run([id]));
  }

  /** @throws RequestError 422: it would be public, and have no address. */
  #assertPublishable(tenantId: string, isPublic: boolean): void {
    const [values] = isPublic ? parseRows(this.#statements.handle.all([tenantId])) : [];
    if (isPublic && typeof values?.[0] !== "string") {
      throw new RequestError(
        422,
        "a public prompt stands under its tenant's handle, and this tenant has none: set one with POST /settings/handle {tenant_handle}",
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
        "parent_commit must be the hash of a commit of this prompt, or be left out before the first",
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
      `tag_name is 1 to ${handleLimit} letters, digits, ., - and _, begins with a letter or digit, and is neither "latest" nor like a hash`,
    );
  }
}

const searchOf = (handle: string, { description }: PromptFields): string =>
  toSearchText(`${handle}\n${description ?? ""}`);

/** The same manifest on the same parent has the same hash. */
const hashOf = (parentHash: string, manifest: string): string =>
  createHash("sha256").update(`${parentHash}\n`).update(manifest).digest("hex");

/** Whatever the order of members, which changes no length. */
const isSameJson = (one: string, other: string): boolean =>
  one === other ||
  (one.length === other.length && isDeepStrictEqual(JSON.parse(one), JSON.parse(other)));
