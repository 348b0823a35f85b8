import { parseRows } from "../../storage/sqlite/rows.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import type { RunRow } from "../run-row.ts";
import { tablesWithRunRows } from "./run-columns.ts";

/** Deletes the rows that belong to a run in all tables. The facets of the run remain. */
export class RunRowDeleter {
  readonly #measureFiles;
  readonly #deleteFromRunTables;
  readonly #deleteFromTenantTables;

  constructor(db: Connection) {
    this.#measureFiles = db
      .prepare("SELECT total(length(bytes)) FROM attachments WHERE trace_id = ? AND id = ?")
      .raw();
    // The row in `runs` is deleted last, because the other rows belong to it.
    this.#deleteFromRunTables = tablesWithRunRows
      .toReversed()
      .map((table) => db.prepare(`DELETE FROM ${table} WHERE trace_id = ? AND id = ?`));
    // Rows of another tenant may refer to the same run id. They are not deleted.
    this.#deleteFromTenantTables = ["feedback", "feedback_tokens", "annotation_queue_runs"].map(
      (table) => db.prepare(`DELETE FROM ${table} WHERE run_id = ? AND tenant_id = ?`),
    );
  }

  /** Deletes the rows of a run. Returns the bytes of the files that were deleted with it. */
  delete(tenantId: string, { traceId, id }: Pick<RunRow, "traceId" | "id">): number {
    const [[fileBytes] = []] = parseRows(this.#measureFiles.all([traceId, id]));
    this.#deleteFromRunTables.forEach((statement) => statement.run([traceId, id]));
    this.#deleteFromTenantTables.forEach((statement) => statement.run([id, tenantId]));
    return Number(fileBytes);
  }
}
