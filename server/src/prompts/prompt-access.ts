import { isCommitHash, ownOwner } from "millrace/model";
import { RequestError } from "../model/errors.ts";
import type { PromptCommit, PromptLocation } from "./prompt.ts";
import { promptQueries } from "./prompt-queries.ts";
import type { CommitRow } from "./prompt-queries.ts";
import { parseCommitRow } from "./prompt-row.ts";
import type { Database } from "../storage/query.ts";

/** Identifies a prompt and its owner. */
export interface PromptKey {
  readonly id: string;
  readonly tenantId: string;
}

/**
 * Finds prompts and commits by the names that clients use, and checks access to them. The reader and the writer use
 * it.
 */
export class PromptAccess {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Finds a prompt of the tenant, or a public prompt of another tenant. */
  async find(tenantId: string, { owner, repo }: PromptLocation): Promise<PromptKey | undefined> {
    const ownerId = owner === ownOwner ? tenantId : await this.#findOwner(owner);
    if (ownerId === undefined) {
      return undefined;
    }
    const row = await this.#db.first(promptQueries.find, { ownerId, handle: repo });
    const isVisible = ownerId === tenantId || row?.is_public === 1;
    return row === undefined || !isVisible ? undefined : { id: row.id, tenantId: row.tenant_id };
  }

  /**
   * Finds a prompt that the tenant can read.
   *
   * @throws RequestError 404: it does not exist, or is not visible to the tenant.
   */
  async read(tenantId: string, location: PromptLocation): Promise<PromptKey> {
    const prompt = await this.find(tenantId, location);
    if (prompt === undefined) {
      throw new RequestError(404, "Prompt not found");
    }
    return prompt;
  }

  /**
   * Finds a prompt that the tenant owns and may change.
   *
   * @throws RequestError 404: as for {@link PromptAccess.read}. 403: another tenant owns it.
   */
  async readOwned(tenantId: string, location: PromptLocation): Promise<PromptKey> {
    const prompt = await this.read(tenantId, location);
    if (prompt.tenantId !== tenantId) {
      throw new RequestError(
        403,
        `Prompt ${location.owner}/${location.repo} belongs to another tenant: it can be read and liked, not changed`,
      );
    }
    return prompt;
  }

  async readLatest(promptId: string): Promise<PromptCommit | undefined> {
    return toCommit(await this.#db.first(promptQueries.findLatestCommit, { promptId }));
  }

  /**
   * Finds a commit by a tag, its hash, or a unique prefix of its hash.
   *
   * @throws RequestError 422: more than one commit has the prefix.
   */
  async findCommit(promptId: string, name: string): Promise<PromptCommit | undefined> {
    if (name === "latest") {
      return this.readLatest(promptId);
    }
    // Try a tag first: a tag may consist of digits only, like a short prefix. Names that look like a full hash can't
    // be tags.
    const taggedCommit = toCommit(
      await this.#db.first(promptQueries.findTaggedCommit, { promptId, tag: name }),
    );
    const hashPrefix = name.toLowerCase();
    if (taggedCommit !== undefined || !isCommitHash(hashPrefix)) {
      return taggedCommit;
    }
    // A hash has only hexadecimal digits, so all hashes with the prefix sort before the prefix followed by g.
    const range = { promptId, from: hashPrefix, to: `${hashPrefix}g` };
    const commits = await this.#db.all(promptQueries.listCommitsByPrefix, range);
    if (commits.length > 1) {
      throw new RequestError(
        422,
        `more than one commit begins with ${hashPrefix}; pass more digits`,
      );
    }
    return toCommit(commits[0]);
  }

  async #findOwner(handle: string): Promise<string | undefined> {
    return (await this.#db.first(promptQueries.findTenant, { handle }))?.id;
  }
}

const toCommit = (row: CommitRow | undefined): PromptCommit | undefined =>
  row === undefined ? undefined : parseCommitRow(row);
