import { threadKeys } from "millrace/model";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import { PostgresSharedTexts } from "../shared-texts/postgres-shared-texts.ts";
import { createPairFacet } from "../facets.ts";

/** A run that is deleted, with its key. */
export interface DeletedRun {
  readonly id: string;
  readonly root_us: number;
  readonly trace_id: string;
}

/** Deletes runs with everything that belongs to them. */
export class RunDeleter {
  readonly #db: PostgresDatabase;
  readonly #sharedTexts: PostgresSharedTexts;

  constructor(db: PostgresDatabase) {
    this.#db = db;
    this.#sharedTexts = new PostgresSharedTexts(db);
  }

  /**
   * Deletes some of the runs of a tree, those further below first and the run itself last, so that a call for the same
   * run continues the deletion. Returns their number, and whether the run itself was deleted. A run that does not exist
   * counts as deleted.
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

  /** Deletes runs of a tenant. */
  async delete(tenantId: string, runs: readonly DeletedRun[]): Promise<void> {
    if (runs.length === 0) {
      return;
    }
    const ids = runs.map(({ id }) => id);
    await this.#db.query(
      `SELECT id FROM run_keys WHERE tenant_id = $1 AND id = ANY($2::text[]) ORDER BY id COLLATE "C" FOR UPDATE`,
      [tenantId, ids],
    );
    const values = await this.#listValues(tenantId, ids);
    const lists = [tenantId, runs.map((run) => run.root_us), runs.map((run) => run.trace_id), ids];
    for (const table of ["payloads", "attachments", "runs"]) {
      await this.#db.query(
        `DELETE FROM ${table} t USING unnest($2::bigint[], $3::text[], $4::text[]) i (root_us, trace_id, id)
         WHERE t.tenant_id = $1 AND t.root_us = i.root_us AND t.trace_id = i.trace_id AND t.id = i.id`,
        lists,
      );
    }
    for (const [table, column] of tablesOfRuns) {
      await this.#db.query(
        `DELETE FROM ${table} WHERE tenant_id = $1 AND ${column} = ANY($2::text[])`,
        [tenantId, ids],
      );
    }
    await this.#deleteUnusedValues(tenantId, values);
    await this.#sharedTexts.deleteUnused();
  }

  /** The values of the projects of runs that are suggested for filters, and the threads of the runs. */
  async #listValues(tenantId: string, ids: readonly string[]): Promise<readonly ProjectValue[]> {
    const { rows } = await this.#db.query<ProjectValue>(
      `SELECT DISTINCT r.project_id, v.facet FROM run_keys k
       JOIN runs r ON r.tenant_id = k.tenant_id AND r.trace_id = k.trace_id AND r.id = k.id AND r.root_us = k.root_us
       CROSS JOIN LATERAL unnest(r.facets) v (facet) WHERE k.tenant_id = $1 AND k.id = ANY($2::text[])`,
      [tenantId, ids],
    );
    return rows;
  }

  /** Deletes the values that no run has any more, so that names and tags of deleted runs are not suggested. */
  async #deleteUnusedValues(tenantId: string, values: readonly ProjectValue[]): Promise<void> {
    for (const { project_id: projectId, facet } of values) {
      const { count } = await this.#db.query(
        `DELETE FROM run_facets WHERE tenant_id = $1 AND project_id = $2 AND facet = $3
           AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.tenant_id = $1 AND r.project_id = $2 AND r.facets @> ARRAY[$3::text])`,
        [tenantId, projectId, facet],
      );
      const prefix = threadPrefixes.find((start) => facet.startsWith(start));
      if (count > 0 && prefix !== undefined) {
        await this.#db.query(
          "DELETE FROM threads WHERE tenant_id = $1 AND project_id = $2 AND id = $3",
          [tenantId, projectId, facet.slice(prefix.length)],
        );
      }
    }
  }
}

/** A facet of a run, as it is stored. */
interface ProjectValue {
  readonly project_id: string;
  readonly facet: string;
}

const threadPrefixes = threadKeys.map((key) => createPairFacet(key, "") ?? "");

/** Other tables whose rows belong to a run, and the columns that contain its id. */
const tablesOfRuns = [
  ["comments", "run_id"],
  ["feedback", "run_id"],
  ["feedback_tokens", "run_id"],
  ["annotation_queue_runs", "run_id"],
  ["shares", "id"],
  ["trace_shares", "id"],
  ["spans", "run_id"],
  ["run_keys", "id"],
] as const;
