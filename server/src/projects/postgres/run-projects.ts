import { RunDeleter } from "../../runs/postgres/run-deleter.ts";
import type { DeletedRun } from "../../runs/postgres/run-deleter.ts";
import { LongWrite } from "../../storage/long-write.ts";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import type { ProjectRuns } from "../project.ts";

/** Deletes projects with their runs. */
export class PostgresRunProjects implements ProjectRuns {
  readonly #db: PostgresDatabase;
  readonly #deleter: RunDeleter;

  constructor(db: PostgresDatabase) {
    this.#db = db;
    this.#deleter = new RunDeleter(db);
  }

  deleteAll(tenantId: string, ids: readonly string[]): LongWrite<void> {
    return LongWrite.createAsync(this.#deleteAll(tenantId, ids));
  }

  /** Nothing is cached. */
  clearCache(): void {}

  /** Deletes runs in slices, each of which ends with `yield`. Each project is deleted after its last run. */
  async *#deleteAll(tenantId: string, ids: readonly string[]): AsyncGenerator<void, void> {
    for (const id of ids) {
      for (let isGone = false; !isGone;) {
        while (await this.#deleteSomeRuns(tenantId, id)) {
          yield;
        }
        // A batch of runs locks the rows of its projects. This query waits for such a batch, which may have stored more
        // runs meanwhile.
        await this.#db.query("SELECT 1 FROM projects WHERE tenant_id = $1 AND id = $2 FOR UPDATE", [
          tenantId,
          id,
        ]);
        isGone = !(await this.#deleteSomeRuns(tenantId, id));
      }
      await this.#deleteProject(tenantId, id);
      yield;
    }
  }

  /** Returns whether the project had runs. */
  async #deleteSomeRuns(tenantId: string, projectId: string): Promise<boolean> {
    const { rows } = await this.#db.query<DeletedRun>(
      "SELECT id, root_us, trace_id FROM runs WHERE tenant_id = $1 AND project_id = $2 LIMIT $3::int",
      [tenantId, projectId, runsPerStep],
    );
    await this.#deleter.delete(tenantId, rows);
    return rows.length > 0;
  }

  async #deleteProject(tenantId: string, id: string): Promise<void> {
    for (const condition of projectRows) {
      await this.#db.query(`DELETE FROM ${condition}`, [tenantId, id]);
    }
  }
}

/** Maximum number of runs that one slice deletes. */
const runsPerStep = 100;

/** The rows that belong to a project, and the project itself. */
const projectRows = [
  "feedback WHERE tenant_id = $1 AND project_id = $2 AND run_id IS NULL",
  "thread_shares WHERE tenant_id = $1 AND project_id = $2",
  "comparative_experiments WHERE tenant_id = $1 AND project_id = $2",
  "threads WHERE tenant_id = $1 AND project_id = $2",
  "run_facets WHERE tenant_id = $1 AND project_id = $2",
  "projects WHERE tenant_id = $1 AND id = $2",
] as const;
