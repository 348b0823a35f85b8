import { ownOwner } from "millrace/model";
import { RequestError } from "../model/errors.ts";
import type {
  CommitPage,
  CommitQuery,
  Prompt,
  PromptLocation,
  PromptPage,
  PromptQuery,
  PromptReads,
  PromptTag,
  PulledCommit,
} from "./prompt.ts";
import { PromptAccess } from "./prompt-access.ts";
import { promptCounts, promptLists, promptQueries } from "./prompt-queries.ts";
import { parseCommitRow, parsePromptRow, parseTagRow, toSearchText } from "./prompt-row.ts";
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
    const { text, tenantId: ownerId, tenantHandle, source, tags, repoTypes } = query;
    const { isPublic, isArchived, hasCommits, sort, direction, limit, offset } = query;
    const filterValues = {
      tenantId,
      repoTypes: JSON.stringify(repoTypes),
      text: text === undefined ? undefined : toSearchText(text),
      ownerId,
      tenantHandle: tenantHandle === ownOwner ? undefined : tenantHandle,
      callerId: tenantHandle === ownOwner ? tenantId : undefined,
      source,
      tags: tags && JSON.stringify(tags),
    };
    const filterOptions = { isPublic, isArchived, hasCommits };
    const values = { ...filterValues, limit, offset };
    const list = promptLists.select(values, { ...filterOptions, sort, direction });
    const rows = await this.#db.all(list, values);
    const count = promptCounts.select(filterValues, filterOptions);
    const countRow = await this.#db.first(count, filterValues);
    return { prompts: rows.map(parsePromptRow), total: countRow?.count ?? 0 };
  }

  async listCommits(
    tenantId: string,
    location: PromptLocation,
    { tag, limit, offset }: CommitQuery,
  ): Promise<CommitPage> {
    const { id: promptId } = await this.#access.read(tenantId, location);
    if (tag !== undefined) {
      const taggedCommits = await this.#db.all(promptQueries.findTaggedCommit, { promptId, tag });
      return {
        commits: taggedCommits.slice(offset, offset + limit).map(parseCommitRow),
        total: taggedCommits.length,
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
