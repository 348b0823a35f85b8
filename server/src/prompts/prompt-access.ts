import { isCommitHash, ownOwner } from "millrace/model";
import { RequestError } from "../model/errors.ts";
import type { PromptCommit, PromptLocation } from "./prompt.ts";
import { commitColumns, parseCommitRow } from "./prompt-row.ts";
import { parseRows } from "../storage/sqlite/rows.ts";
import type { Connection } from "../storage/sqlite/connection.ts";

/** Identifies a prompt and its owner. */
export interface PromptKey {
  readonly id: string;
  readonly tenantId: string;
}

/**
 * Resolves prompts and commits from the names that callers use, and checks access; shared by the reader and the
 * writer.
 */
export class PromptAccess {
  readonly #statements;

  constructor(db: Connection) {
    const commits = `SELECT ${commitColumns} FROM prompt_commits WHERE prompt_id = ?`;
    this.#statements = {
      owner: db.prepare("SELECT id FROM tenants WHERE handle = ?").raw(),
      prompt: db
        .prepare("SELECT id, tenant_id, is_public FROM prompts WHERE tenant_id = ? AND handle = ?")
        .raw(),
      latest: db.prepare(`${commits} ORDER BY number DESC LIMIT 1`).raw(),
      // A hash has only hexadecimal digits, so all hashes with the prefix sort before the prefix followed by g.
      byPrefix: db.prepare(`${commits} AND hash >= ?2 AND hash < ?2 || 'g' LIMIT 2`).raw(),
      byTag: db
        .prepare(
          `${commits} AND id = (SELECT commit_id FROM prompt_tags WHERE prompt_id = ?1 AND name = ?2)`,
        )
        .raw(),
    };
  }

  /** Finds a prompt of the tenant, or a public prompt of another tenant. */
  find(tenantId: string, { owner, repo }: PromptLocation): PromptKey | undefined {
    const ownerId = owner === ownOwner ? tenantId : this.#ownerId(owner);
    if (ownerId === undefined) {
      return undefined;
    }
    const [values] = parseRows(this.#statements.prompt.all([ownerId, repo]));
    const isVisible = ownerId === tenantId || values?.[2] === 1;
    return values === undefined || !isVisible
      ? undefined
      : { id: String(values[0]), tenantId: String(values[1]) };
  }

  /** @throws RequestError 404: it does not exist, or is not visible to the caller. */
  read(tenantId: string, location: PromptLocation): PromptKey {
    const found = this.find(tenantId, location);
    if (found === undefined) {
      throw new RequestError(404, "Prompt not found");
    }
    return found;
  }

  /**
   * Finds a prompt that the tenant owns and may change.
   *
   * @throws RequestError 404: as {@link PromptAccess.read}. 403: another tenant owns it.
   */
  readOwned(tenantId: string, location: PromptLocation): PromptKey {
    const found = this.read(tenantId, location);
    if (found.tenantId !== tenantId) {
      throw new RequestError(
        403,
        `Prompt ${location.owner}/${location.repo} belongs to another tenant: it can be read and liked, not changed`,
      );
    }
    return found;
  }

  latest(promptId: string): PromptCommit | undefined {
    return parseFirstCommit(this.#statements.latest.all([promptId]));
  }

  /**
   * Finds a commit by a tag, its hash, or a unique prefix of its hash.
   *
   * @throws RequestError 422: more than one commit has the prefix.
   */
  findCommit(promptId: string, name: string): PromptCommit | undefined {
    if (name === "latest") {
      return this.latest(promptId);
    }
    // Look for a tag first: a tag may consist of digits only, like a short prefix. Names that look like a full hash
    // can't be tags.
    const tagged = parseFirstCommit(this.#statements.byTag.all([promptId, name]));
    const hash = name.toLowerCase();
    if (tagged !== undefined || !isCommitHash(hash)) {
      return tagged;
    }
    const found = this.#statements.byPrefix.all([promptId, hash]);
    if (found.length > 1) {
      throw new RequestError(422, `more than one commit begins with ${hash}; pass more digits`);
    }
    return parseFirstCommit(found);
  }

  #ownerId(handle: string): string | undefined {
    const [values] = parseRows(this.#statements.owner.all([handle]));
    return values === undefined ? undefined : String(values[0]);
  }
}

function parseFirstCommit(rows: readonly unknown[]): PromptCommit | undefined {
  const [values] = parseRows(rows);
  return values === undefined ? undefined : parseCommitRow(values);
}
