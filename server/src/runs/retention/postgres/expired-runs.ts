import type { PostgresDatabase } from "../../../storage/postgres/postgres-database.ts";
import { StepPace } from "../../../storage/step-pace.ts";
import { RunDeleter } from "../../postgres/run-deleter.ts";
import type { DeletedRun } from "../../postgres/run-deleter.ts";
import type { ExpiredRuns } from "../retention.ts";

/** Deletes expired runs of single projects, with everything that belongs to them. */
export class PostgresExpiredRuns implements ExpiredRuns {
  readonly #db: PostgresDatabase;
  readonly #deleter: RunDeleter;
  readonly #pace = new StepPace({ min: 100, max: 5_000, targetMs: 200 });

  constructor(db: PostgresDatabase) {
    this.#db = db;
    this.#deleter = new RunDeleter(db);
  }

  async deleteSome(tenantId: string, projectId: string, beforeMicros: number): Promise<number> {
    const startMs = performance.now();
    const limit = this.#pace.size;
    const { rows } = await this.#db.query<DeletedRun>(
      `SELECT id, root_us, trace_id FROM runs WHERE tenant_id = $1 AND project_id = $2 AND start_us < $3::bigint
       ORDER BY start_us, id LIMIT $4::int`,
      [tenantId, projectId, beforeMicros, limit],
    );
    await this.#deleter.deleteMany(tenantId, rows);
    if (rows.length === limit) {
      this.#pace.record(performance.now() - startMs);
    }
    return rows.length;
  }
}
