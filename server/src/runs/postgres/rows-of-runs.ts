import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";

/**
 * Tables whose rows belong to runs, each with the column that contains the id of the run. `run_keys` and the
 * partitioned tables are not listed.
 */
export const tablesOfRuns = [
  ["comments", "run_id"],
  ["feedback", "run_id"],
  ["feedback_tokens", "run_id"],
  ["annotation_queue_runs", "run_id"],
  ["shares", "id"],
  ["trace_shares", "id"],
  ["spans", "run_id"],
] as const;

/** Deletes the rows of other resources that belong to runs. */
export async function deleteRowsOfRuns(
  db: PostgresDatabase,
  tenantId: string,
  ids: readonly string[],
): Promise<void> {
  for (const [table, column] of tablesOfRuns) {
    await db.query(`DELETE FROM ${table} WHERE tenant_id = $1 AND ${column} = ANY($2::text[])`, [
      tenantId,
      ids,
    ]);
  }
}
