import { RequestError } from "../model/errors.ts";
import type {
  CommitPage,
  CommitQuery,
  Prompt,
  PromptPage,
  PromptLocation,
  PromptQuery,
  PromptReads,
  PromptSort,
  PromptTag,
  PulledCommit,
} from "./prompt.ts";
import { PromptAccess } from "./prompt-access.ts";
import {
  commitColumns,
  parseCommitRow,
  parsePromptRow,
  parseTagRow,
  promptColumns,
  promptTable,
  tagColumns,
  tagTable,
  toSearchText,
} from "./prompt-row.ts";
import { parseRows } from "../storage/sqlite/rows.ts";
import type { Connection } from "../storage/sqlite/connection.ts";

/** The condition of a list of prompts; its parameters are {@link filterValues}. */
const filters = `(p.tenant_id = ?1 OR p.is_public = 1)
  AND (?2 IS NULL OR instr(p.search, ?2) > 0)
  AND (?3 IS NULL OR p.tenant_id = ?3)
  AND (?4 IS NULL OR t.handle = ?4)
  AND (?5 IS NULL OR p.is_public = ?5)
  AND (?6 IS NULL OR p.is_archived = ?6)
  AND (?7 IS NULL OR (p.commits > 0) = ?7)
  AND p.repo_type IN (SELECT value FROM json_each(?8))
  AND (?9 IS NULL OR json_extract(p.fields_json, '$.source') = ?9)
  AND (?10 IS NULL OR NOT EXISTS (
    SELECT value FROM json_each(?10) EXCEPT SELECT value FROM json_each(p.fields_json, '$.tags')))`;

const orders: Readonly<Record<PromptSort, string>> = {
  num_likes: "p.likes",
  repo_handle: "p.handle",
  num_downloads: "p.downloads",
  num_views: "p.views",
  updated_at: "p.updated_us",
  // A match near the beginning ranks higher: the searched text begins with the handle.
  relevance: "-instr(p.search, ifnull(?2, ''))",
};

/** Queries prompts, their commits and tags. */
export class PromptReader implements PromptReads {
  readonly #access: PromptAccess;
  readonly #db: Connection;
  readonly #statements;
  /** Prepared list statements by sort order. */
  readonly #lists = new Map<string, ReturnType<Connection["prepare"]>>();

  constructor(db: Connection) {
    this.#db = db;
    this.#access = new PromptAccess(db);
    const commits = `FROM prompt_commits WHERE prompt_id = ?1
      AND (?2 IS NULL OR id = (SELECT commit_id FROM prompt_tags WHERE prompt_id = ?1 AND name = ?2))`;
    const tags = `SELECT ${tagColumns} FROM ${tagTable} WHERE g.prompt_id = ?`;
    this.#statements = {
      read: db.prepare(`SELECT ${promptColumns} FROM ${promptTable} WHERE p.id = ?2`).raw(),
      count: db.prepare(`SELECT count(*) FROM ${promptTable} WHERE ${filters}`).raw(),
      commits: db
        .prepare(`SELECT ${commitColumns} ${commits} ORDER BY number DESC LIMIT ?3 OFFSET ?4`)
        .raw(),
      countCommits: db.prepare(`SELECT count(*) ${commits}`).raw(),
      manifest: db.prepare("SELECT manifest FROM prompt_commits WHERE id = ?").raw(),
      tags: db.prepare(`${tags} ORDER BY g.name`).raw(),
      tag: db.prepare(`${tags} AND g.name = ?`).raw(),
    };
  }

  find(tenantId: string, location: PromptLocation): Prompt | undefined {
    const key = this.#access.find(tenantId, location);
    return key === undefined ? undefined : this.read(tenantId, key.id);
  }

  /** Reads a prompt that is known to exist. */
  read(tenantId: string, id: string): Prompt {
    return parsePromptRow(parseRows(this.#statements.read.all([tenantId, id]))[0] ?? []);
  }

  list(tenantId: string, query: PromptQuery): PromptPage {
    const values = filterValues(tenantId, query);
    const direction = query.direction === "asc" ? "ASC" : "DESC";
    const order = `${orders[query.sort]} ${direction}`;
    const rows = this.#prepareList(order).all([...values, query.limit, query.offset]);
    return {
      prompts: parseRows(rows).map(parsePromptRow),
      total: Number(parseRows(this.#statements.count.all(values))[0]?.[0]),
    };
  }

  listCommits(tenantId: string, location: PromptLocation, query: CommitQuery): CommitPage {
    const { id } = this.#access.read(tenantId, location);
    const values = [id, query.tag ?? null];
    const rows = this.#statements.commits.all([...values, query.limit, query.offset]);
    return {
      commits: parseRows(rows).map(parseCommitRow),
      total: Number(parseRows(this.#statements.countCommits.all(values))[0]?.[0]),
    };
  }

  pull(tenantId: string, location: PromptLocation, name: string): PulledCommit {
    const { id } = this.#access.read(tenantId, location);
    const commit = this.#access.findCommit(id, name);
    if (commit === undefined) {
      const hasNoCommits = this.#access.latest(id) === undefined;
      throw new RequestError(
        404,
        hasNoCommits ? "No commits found: push one first" : "Commit not found",
      );
    }
    const [values] = parseRows(this.#statements.manifest.all([commit.id]));
    return { commit, manifest: String(values?.[0]) };
  }

  listTags(tenantId: string, location: PromptLocation): readonly PromptTag[] {
    const { id } = this.#access.read(tenantId, location);
    return parseRows(this.#statements.tags.all([id])).map(parseTagRow);
  }

  readTag(tenantId: string, location: PromptLocation, name: string): PromptTag {
    const { id } = this.#access.read(tenantId, location);
    const [values] = parseRows(this.#statements.tag.all([id, name]));
    if (values === undefined) {
      throw new RequestError(404, "Tag not found");
    }
    return parseTagRow(values);
  }

  #prepareList(order: string): ReturnType<Connection["prepare"]> {
    const statement =
      this.#lists.get(order) ??
      this.#db
        .prepare(
          `SELECT ${promptColumns} FROM ${promptTable} WHERE ${filters}
           ORDER BY ${order}, p.updated_us DESC, p.id LIMIT ?11 OFFSET ?12`,
        )
        .raw();
    this.#lists.set(order, statement);
    return statement;
  }
}

const filterValues = (tenantId: string, query: PromptQuery): (string | number | null)[] => [
  tenantId,
  query.text === undefined ? null : toSearchText(query.text),
  query.tenantId ?? null,
  query.tenantHandle ?? null,
  flag(query.isPublic),
  flag(query.isArchived),
  flag(query.hasCommits),
  JSON.stringify(query.repoTypes),
  query.source ?? null,
  query.tags === undefined ? null : JSON.stringify(query.tags),
];

const flag = (value: boolean | undefined): number | null =>
  value === undefined ? null : Number(value);
