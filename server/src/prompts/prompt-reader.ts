import { expressionBuilder, sql } from "kysely";
import { RequestError } from "../model/errors.ts";
import type {
  CommitPage,
  CommitQuery,
  Prompt,
  PromptLocation,
  PromptPage,
  PromptQuery,
  PromptReads,
  PromptSort,
  PromptTag,
  PulledCommit,
} from "./prompt.ts";
import { PromptAccess } from "./prompt-access.ts";
import { promptQueries, selectFromPrompts, selectPrompts } from "./prompt-queries.ts";
import { parseCommitRow, parsePromptRow, parseTagRow, toSearchText } from "./prompt-row.ts";
import { findPosition, hasAllInMember, isInList, readJsonMember } from "../storage/dialect.ts";
import type { Database } from "../storage/query.ts";

/** Queries prompts, their commits and tags. */
export class PromptReader implements PromptReads {
  readonly #access: PromptAccess;
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
    this.#access = new PromptAccess(db);
  }

  async find(tenantId: string, location: PromptLocation): Promise<Prompt | undefined> {
    const key = await this.#access.find(tenantId, location);
    return key === undefined ? undefined : this.read(tenantId, key.id);
  }

  /** Reads a prompt by its id. Does not check whether the tenant may see it: the callers have done so. */
  async read(tenantId: string, id: string): Promise<Prompt> {
    const row = await this.#db.first(promptQueries.read, { tenantId, id });
    if (row === undefined) {
      throw new RequestError(404, "Prompt not found");
    }
    return parsePromptRow(row);
  }

  async list(tenantId: string, query: PromptQuery): Promise<PromptPage> {
    const condition = buildCondition(tenantId, query);
    const rows = await this.#db.all(
      selectPrompts(tenantId)
        .where(condition)
        .orderBy(buildOrder(query), query.direction)
        .orderBy("p.updated_us", "desc")
        .orderBy("p.id")
        .limit(query.limit)
        .offset(query.offset),
    );
    const countRow = await this.#db.first(
      selectFromPrompts()
        .where(condition)
        .select((from) => from.fn.countAll<number>().as("count")),
    );
    return { prompts: rows.map(parsePromptRow), total: countRow?.count ?? 0 };
  }

  async listCommits(
    tenantId: string,
    location: PromptLocation,
    { tag, limit, offset }: CommitQuery,
  ): Promise<CommitPage> {
    const { id: promptId } = await this.#access.read(tenantId, location);
    if (tag !== undefined) {
      const found = await this.#db.all(promptQueries.findTaggedCommit, { promptId, tag });
      return {
        commits: found.slice(offset, offset + limit).map(parseCommitRow),
        total: found.length,
      };
    }
    const rows = await this.#db.all(promptQueries.listCommits, { promptId, limit, offset });
    const countRow = await this.#db.first(promptQueries.countCommits, { promptId });
    return { commits: rows.map(parseCommitRow), total: countRow?.count ?? 0 };
  }

  async pull(tenantId: string, location: PromptLocation, name: string): Promise<PulledCommit> {
    const { id } = await this.#access.read(tenantId, location);
    const commit = await this.#access.findCommit(id, name);
    if (commit === undefined) {
      const hasNoCommits = (await this.#access.readLatest(id)) === undefined;
      throw new RequestError(
        404,
        hasNoCommits ? "No commits found: push one first" : "Commit not found",
      );
    }
    const row = await this.#db.first(promptQueries.readManifest, { id: commit.id });
    return { commit, manifest: String(row?.manifest) };
  }

  async listTags(tenantId: string, location: PromptLocation): Promise<readonly PromptTag[]> {
    const { id } = await this.#access.read(tenantId, location);
    return (await this.#db.all(promptQueries.listTags, { promptId: id })).map(parseTagRow);
  }

  async readTag(tenantId: string, location: PromptLocation, name: string): Promise<PromptTag> {
    const { id } = await this.#access.read(tenantId, location);
    const row = await this.#db.first(promptQueries.findTag, { promptId: id, name });
    if (row === undefined) {
      throw new RequestError(404, "Tag not found");
    }
    return parseTagRow(row);
  }
}

const sortColumns = {
  num_likes: "p.likes",
  repo_handle: "p.handle",
  num_downloads: "p.downloads",
  num_views: "p.views",
  updated_at: "p.updated_us",
} as const satisfies Readonly<Record<Exclude<PromptSort, "relevance">, string>>;

/**
 * Builds the expression by which a list is sorted. For relevance, it is the negated position of the match in the
 * searched text: an earlier match is more relevant, because that text begins with the handle.
 */
const buildOrder = ({ sort, text }: PromptQuery) =>
  sort === "relevance"
    ? sql<number>`-${findPosition(sql.ref<string>("p.search"), toSearchText(text ?? ""))}`
    : sql.ref<string | number>(sortColumns[sort]);

/** Builds the condition of a list from the filters that are set. */
function buildCondition(tenantId: string, query: PromptQuery) {
  const eb = expressionBuilder(selectFromPrompts());
  const { text, tenantId: ownerId, tenantHandle, source, tags } = query;
  const { isPublic, isArchived, hasCommits } = query;
  return eb.and([
    eb.or([eb("p.tenant_id", "=", tenantId), eb("p.is_public", "=", 1)]),
    isInList(eb.ref("p.repo_type"), query.repoTypes),
    ...(text === undefined
      ? []
      : [eb(findPosition(eb.ref("p.search"), toSearchText(text)), ">", 0)]),
    ...(ownerId === undefined ? [] : [eb("p.tenant_id", "=", ownerId)]),
    ...(tenantHandle === undefined ? [] : [eb("t.handle", "=", tenantHandle)]),
    ...(isPublic === undefined ? [] : [eb("p.is_public", "=", Number(isPublic))]),
    ...(isArchived === undefined ? [] : [eb("p.is_archived", "=", Number(isArchived))]),
    ...(hasCommits === undefined ? [] : [eb("p.commits", hasCommits ? ">" : "=", 0)]),
    ...(source === undefined
      ? []
      : [eb(readJsonMember(eb.ref("p.fields_json"), "source"), "=", source)]),
    ...(tags === undefined ? [] : [hasAllInMember(eb.ref("p.fields_json"), "tags", tags)]),
  ]);
}
