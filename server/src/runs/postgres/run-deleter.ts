import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import { PostgresSharedTexts } from "../shared-texts/postgres-shared-texts.ts";
import { deleteRowsOfRuns } from "./rows-of-runs.ts";
import { UnusedValues } from "./unused-values.ts";

export interface DeletedRun {
  readonly id: string;
  readonly root_us: number;
  readonly trace_id: string;
}

/** Deletes runs with everything that belongs to them. */
export class RunDeleter {
  readonly #db: PostgresDatabase;
  readonly #sharedTexts: PostgresSharedTexts;
  readonly #values: UnusedValues;

  constructor(db: PostgresDatabase) {
    this.#db = db;
    this.#sharedTexts = new PostgresSharedTexts(db);
    this.#values = new UnusedValues(db);
  }

  /**
   * Deletes some of the runs of a tree, descendants before their ancestors and the root of the tree last, so that
   * another call for the same root continues the deletion. Returns the number of deleted runs, and whether the root was
   * deleted. A root that does not exist counts as deleted.
   */
  async deleteTree(
    tenantId: string,
    id: string,
    limit: number,
  ): Promise<{ readonly deleted: number; readonly isComplete: boolean }> {
    const { rows } = await this.#db.query<DeletedRun>(
      `SELECT r.id, r.root_us, r.trace_id FROM run_keys k
       JOIN runs o ON o.tenant_id = k.tenant_id AND o.trace_id = k.trace_id AND o.id = k.id AND o.root_us = k.root_us
       JOIN runs r ON r.tenant_id = o.tenant_id AND r.trace_id = o.trace_id
         AND (r.id = o.id OR o.dotted_order <> '' AND r.dotted_order > o.dotted_order || '.' AND r.dotted_order < o.dotted_order || '/')
       WHERE k.tenant_id = $1 AND k.id = $2 ORDER BY r.id = o.id, r.dotted_order DESC, r.id LIMIT $3::int`,
      [tenantId, id, limit],
    );
    await this.delete(tenantId, rows);
    return { deleted: rows.length, isComplete: rows.length < limit || rows.at(-1)?.id === id };
  }

  /** Deletes runs of a tenant, and the values and shared texts that only these runs had. */
  async delete(tenantId: string, runs: readonly DeletedRun[]): Promise<void> {
    if (runs.length > 0) {
      await this.#lock(tenantId, runs);
      const values = await this.#values.listValues(tenantId, toIds(runs));
      await this.#deleteRows(tenantId, runs);
      await this.#values.deleteUnused(tenantId, values);
      await this.#sharedTexts.deleteUnused();
    }
  }

  /**
   * Deletes many runs of a tenant. Their values are only listed. Once no more runs are deleted, {@link UnusedValues}
   * deletes those that no other run has: checking whether a value is still in use takes longer than deleting a run.
   */
  async deleteMany(tenantId: string, runs: readonly DeletedRun[]): Promise<void> {
    if (runs.length > 0) {
      await this.#lock(tenantId, runs);
      await this.#values.addCandidates(tenantId, toIds(runs));
      await this.#deleteRows(tenantId, runs);
    }
  }

  async #lock(tenantId: string, runs: readonly DeletedRun[]): Promise<void> {
    await this.#db.query(
      `SELECT count(*) FROM (SELECT FROM run_keys WHERE tenant_id = $1 AND id = ANY($2::text[])
         ORDER BY id COLLATE "C" FOR UPDATE) k`,
      [tenantId, toIds(runs)],
    );
  }

  async #deleteRows(tenantId: string, runs: readonly DeletedRun[]): Promise<void> {
    const ids = toIds(runs);
    const lists = [tenantId, runs.map((run) => run.root_us), runs.map((run) => run.trace_id), ids];
    for (const table of ["payloads", "attachments", "runs"]) {
      await this.#db.query(
        `DELETE FROM ${table} t USING unnest($2::bigint[], $3::text[], $4::text[]) i (root_us, trace_id, id)
         WHERE t.tenant_id = $1 AND t.root_us = i.root_us AND t.trace_id = i.trace_id AND t.id = i.id`,
        lists,
      );
    }
    await deleteRowsOfRuns(this.#db, tenantId, ids);
    await this.#db.query("DELETE FROM run_keys WHERE tenant_id = $1 AND id = ANY($2::text[])", [
      tenantId,
      ids,
    ]);
  }
}

const toIds = (runs: readonly DeletedRun[]): readonly string[] => runs.map(({ id }) => id);
