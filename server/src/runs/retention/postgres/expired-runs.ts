import { threadKeys } from "millrace/model";
import type { PostgresDatabase } from "../../../storage/postgres/postgres-database.ts";
import { encodeText } from "../../../storage/postgres/text-encoding.ts";
import { anyFacet, createPairFacet } from "../../facets.ts";
import { RunDeleter } from "../../postgres/run-deleter.ts";
import type { DeletedRun } from "../../postgres/run-deleter.ts";
import type { ExpiredRuns } from "../retention.ts";

/** Maximum number of runs that one step deletes. */
const runsPerStep = 100;

/** Deletes expired runs, with everything that belongs to them. */
export class PostgresExpiredRuns implements ExpiredRuns {
  readonly #db: PostgresDatabase;
  readonly #deleter: RunDeleter;

  constructor(db: PostgresDatabase) {
    this.#db = db;
    this.#deleter = new RunDeleter(db);
  }

  async deleteSome(tenantId: string, projectId: string, beforeMicros: number): Promise<number> {
    const { rows } = await this.#db.query<DeletedRun>(
      `SELECT id, root_us, trace_id FROM runs WHERE tenant_id = $1 AND project_id = $2 AND start_us < $3::bigint
       ORDER BY start_us, id LIMIT ${runsPerStep}`,
      [tenantId, projectId, beforeMicros],
    );
    await this.#deleter.delete(tenantId, rows);
    if (rows.length > 0) {
      await this.#deleteUnusedThreadShares(tenantId, projectId);
    }
    return rows.length;
  }

  /** Deletes the share links of threads that have no runs left. */
  async #deleteUnusedThreadShares(tenantId: string, projectId: string): Promise<void> {
    const { rows } = await this.#db.query<{ readonly thread_json: string }>(
      "SELECT thread_json FROM thread_shares WHERE tenant_id = $1 AND project_id = $2",
      [tenantId, projectId],
    );
    for (const { thread_json: threadJson } of rows) {
      const threadId = String(JSON.parse(threadJson));
      const facets = threadKeys.map((key) => createPairFacet(key, threadId));
      // A very long thread id has no facet. Any run of the project is then treated as a possible run of the thread.
      const candidateFacets = facets.includes(undefined)
        ? null
        : [anyFacet, ...facets.flatMap((facet) => facet ?? [])].map(encodeText);
      await this.#db.query(
        `DELETE FROM thread_shares WHERE tenant_id = $1 AND project_id = $2 AND thread_json = $3
           AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.tenant_id = $1 AND r.project_id = $2
             AND ($4::text[] IS NULL OR r.facets && $4::text[]))`,
        [tenantId, projectId, threadJson, candidateFacets],
      );
    }
  }
}
