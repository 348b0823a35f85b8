import { isCommitHash, ownOwner } from "millrace/model";
import { RequestError } from "../model/errors.ts";
import type { PromptCommit, PromptLocation } from "./prompt.ts";
import { commitColumns, parseCommitRow } from "./prompt-row.ts";
import { parseRows } from "../storage/sqlite/rows.ts";
import type { Connection } from "../storage/sqlite/connection.ts";

/** A prompt as far as access needs it. */
export interface PromptKey {
  readonly id: string;
  readonly tenantId: string;
}

/** Which prompt and which commit a caller means, and whether it may have it: for reader and writer alike. */
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
      // Every digit is below g.
      byPrefix: db.prepare(`${commits} AND hash >= ?2 AND hash < ?2 || 'g' LIMIT 2`).raw(),
      byTag: db
        .prepare(
          `${commits} AND id = (SELECT commit_id FROM prompt_tags WHERE prompt_id = ?1 AND name = ?2)`,
        )
        .raw(),
    };
  }

  /** One's own, or another's public one. */
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
  read(tenantId: string, place: PromptLocation): PromptKey {
    const found = this.find(tenantId, place);
    if (found === undefined) {
      throw new RequestError(404, "Prompt not found");
    }
    return found;
  }

  /** @throws RequestError 404: as {@link PromptAccess.read}. 403: it is another tenant's. */
  own(tenantId: string, place: PromptLocation): PromptKey {
    const found = this.read(tenantId, place);
    if (found.tenantId !== tenantId) {
      throw new RequestError(
        403,
        `Prompt ${place.owner}/${place.repo} is another tenant's: it can be read and liked, not changed`,
      );
    }
    return found;
  }

  latest(promptId: string): PromptCommit | undefined {
    return commitOf(this.#statements.latest.all([promptId]));
  }

  /**
   * By a tag, a hash, or the beginning of one that only one commit has.
   *
   * @throws RequestError 422: more than one commit begins so.
   */
  findCommit(promptId: string, name: string): PromptCommit | undefined {
    if (name === "latest") {
      return this.latest(promptId);
    }
    // First, for a short one may be all digits; what looks like a hash can't be a tag.
    const tagged = commitOf(this.#statements.byTag.all([promptId, name]));
    const hash = name.toLowerCase();
    if (tagged !== undefined || !isCommitHash(hash)) {
      return tagged;
    }
    const found = this.#statements.byPrefix.all([promptId, hash]);
    if (found.length > 1) {
      throw new RequestError(422, `more than one commit begins with ${hash}; give more of it`);
    }
    return commitOf(found);
  }

  #ownerId(handle: string): string | undefined {
    const [values] = parseRows(this.#statements.owner.all([handle]));
    return values === undefined ? undefined : String(values[0]);
  }
}

function commitOf(rows: readonly unknown[]): PromptCommit | undefined {
  const [values] = parseRows(rows);
  return values === undefined ? undefined : parseCommitRow(values);
}
