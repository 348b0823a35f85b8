import { randomUUID } from "node:crypto";
import { RequestError } from "../../model/errors.ts";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import type { Promised } from "../../storage/promised.ts";
import { decryptToken, digestToken, readToken } from "../../storage/share-token.ts";
import type { TokenCipher } from "../../storage/share-token.ts";
import type { RunWrites, TreeDeletion } from "../run-query.ts";
import { RunDeleter } from "./run-deleter.ts";
import { ownerOfRunToken } from "./run-shape.ts";

type PromisedRunWrites = Promised<{ readonly runs: RunWrites }>["runs"];

/** Shares and deletes runs. */
export class PostgresRunWrites implements PromisedRunWrites {
  readonly #db: PostgresDatabase;
  readonly #tokens: TokenCipher;
  readonly #deleter: RunDeleter;

  constructor(db: PostgresDatabase, tokenCipher: TokenCipher) {
    this.#db = db;
    this.#tokens = tokenCipher;
    this.#deleter = new RunDeleter(db);
  }

  async share(tenantId: string, id: string): Promise<string> {
    // The lock prevents the run from moving to another trace, and two calls for the same run from creating two tokens.
    const { rows: runs } = await this.#db.query<{ readonly trace_id: string }>(
      `SELECT k.trace_id FROM run_keys k
       JOIN runs r ON r.tenant_id = k.tenant_id AND r.trace_id = k.trace_id AND r.id = k.id AND r.root_us = k.root_us
       WHERE k.tenant_id = $1 AND k.id = $2 FOR UPDATE OF k`,
      [tenantId, id],
    );
    const [run] = runs;
    if (run === undefined) {
      throw new RequestError(404, "Run not found");
    }
    const { rows: shares } = await this.#db.query<{ readonly sealed: string }>(
      "SELECT sealed FROM shares WHERE tenant_id = $1 AND id = $2",
      [tenantId, id],
    );
    const [share] = shares;
    const owner = ownerOfRunToken(id);
    if (share !== undefined) {
      return readToken(decryptToken(this.#tokens, share.sealed, owner));
    }
    const token = randomUUID();
    await this.#db.query(
      "INSERT INTO shares (tenant_id, digest, sealed, trace_id, id) VALUES ($1, $2, $3, $4, $5)",
      [tenantId, digestToken(token), this.#tokens.encrypt(token, owner), run.trace_id, id],
    );
    return token;
  }

  async unshare(tenantId: string, id: string): Promise<void> {
    await this.#db.query("DELETE FROM shares WHERE tenant_id = $1 AND id = $2", [tenantId, id]);
  }

  async deleteTrees(tenantId: string, ids: readonly string[]): Promise<TreeDeletion> {
    let deletedCount = 0;
    for (const [index, id] of ids.entries()) {
      const limit = runsPerDeletion - deletedCount;
      const { deleted, isComplete } = await this.#deleter.deleteTree(tenantId, id, limit);
      deletedCount += deleted;
      if (!isComplete) {
        return { deleted: deletedCount, remainingIds: ids.slice(index) };
      }
      if (deletedCount >= runsPerDeletion) {
        return { deleted: deletedCount, remainingIds: ids.slice(index + 1) };
      }
    }
    return { deleted: deletedCount, remainingIds: [] };
  }
}

/** Maximum number of runs that one call deletes. */
const runsPerDeletion = 100;
