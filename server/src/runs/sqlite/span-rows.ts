import type { SpanRecord } from "millrace/spans";
import type { RunRow } from "../run-row.ts";
import type { SpanRow, SpanRows } from "../spans/span-writer.ts";
import type { RunMetrics } from "../run-writer-dependencies.ts";
import {
  insertRunClause,
  parseRow,
  parsedColumns,
  rowToValues,
  tablesWithRunRows,
} from "./run-columns.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import { changedChecksumSql, computeChecksumChange } from "../../storage/sqlite/checksum.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { idOf } from "../../storage/row-keys.ts";
import { idSql } from "../../storage/sqlite/tenant-keys.ts";

/** Reads and writes the table of spans, and the positions of their runs. */
export class SqliteSpanRows implements SpanRows {
  readonly #metrics: RunMetrics;
  readonly #statements;

  constructor(db: Connection, metrics: RunMetrics) {
    this.#metrics = metrics;
    const columns = parsedColumns.map((name) => `r.${name}`).join(", ");
    const createSelect = (
      index: string,
    ) => `SELECT s.trace_id, s.id, s.parent_id, s.kind, s.has_project, ${columns}
      FROM spans s ${index} JOIN runs r ON r.id = s.run_id`;
    const select = createSelect("");
    // Without this hint, SQLite would read the whole trace to find the children of one span.
    const selectByParent = createSelect("INDEXED BY spans_by_parent");
    const traceCondition = "WHERE s.tenant_id = ? AND s.trace_id = ?";
    this.#statements = {
      find: db.prepare(`${select} ${traceCondition} AND s.id = ?`).raw(),
      findByRun: db.prepare(`${select} WHERE s.run_id = ?`).raw(),
      listChildren: db.prepare(`${selectByParent} ${traceCondition} AND s.parent_id = ?`).raw(),
      listChildrenOfRun: db
        .prepare(
          `${select} WHERE r.trace_id = ? AND r.parent_run_id = ? AND s.tenant_id = ? AND s.trace_id = ?`,
        )
        .raw(),
      findCompetitor: db
        .prepare(
          `SELECT 1 FROM spans s JOIN runs r ON r.id = s.run_id ${traceCondition} AND r.parent_run_id = ?
            AND (s.kind = 'root' OR (s.kind = 'entry' AND ? = 'entry' AND s.parent_id <> ?)) LIMIT 1`,
        )
        .raw(),
      insert: db.prepare(
        "INSERT OR REPLACE INTO spans (tenant_id, trace_id, id, parent_id, kind, has_project, run_id) VALUES (?, ?, ?, ?, ?, ?, ?)",
      ),
      findRun: db.prepare(`SELECT ${columns} FROM runs r WHERE r.id = ?`).raw(),
      insertRun: db.prepare(`INSERT ${insertRunClause}`),
      placeRun: db.prepare(
        "UPDATE runs SET dotted_order = ?, parent_run_id = ?, project_id = ? WHERE id = ?",
      ),
      updateTraceIds: tablesWithRunRows.map((table) =>
        db.prepare(`UPDATE ${table} SET trace_id = ? WHERE trace_id = ? AND id = ?`),
      ),
      updateIds: ["runs", "shares", "trace_shares"].map((table) =>
        db.prepare(`UPDATE ${table} SET id = ? WHERE trace_id = ? AND id = ?`),
      ),
      updateIdsAndChecksums: ["payloads", "attachments"].map((table) =>
        db.prepare(
          `UPDATE ${table} SET id = ?1, checksum = ${changedChecksumSql("?4")} WHERE trace_id = ?2 AND id = ?3`,
        ),
      ),
      changeRunOfSpan: db.prepare("UPDATE spans SET run_id = ? WHERE run_id = ?"),
      extendTimes: db.prepare(
        "UPDATE runs SET start_us = min(start_us, ?), end_us = max(coalesce(end_us, 0), ?) WHERE id = ? AND posted = 0",
      ),
      deleteIfEmpty: db.prepare(
        `DELETE FROM runs WHERE id = ?1 AND posted = 0 AND patched = 0
          AND NOT EXISTS (SELECT 1 FROM runs c
            WHERE c.trace_id = runs.trace_id AND c.parent_run_id = ${idSql("runs.id")}
              AND c.project_id IN (SELECT id FROM projects WHERE tenant_id = ?2))`,
      ),
    };
  }

  find(tenantId: string, traceId: string, id: string): SpanRow | undefined {
    return toSpanRows(this.#statements.find.all([tenantId, traceId, id]))[0];
  }

  findByRun(runId: string): SpanRow | undefined {
    return toSpanRows(this.#statements.findByRun.all([runId]))[0];
  }

  listChildren(tenantId: string, { traceId, id }: SpanRecord): readonly SpanRow[] {
    return toSpanRows(this.#statements.listChildren.all([tenantId, traceId, id]));
  }

  listChildrenOfRun(tenantId: string, traceId: string, run: RunRow): readonly SpanRow[] {
    return toSpanRows(
      this.#statements.listChildrenOfRun.all([run.traceId, idOf(run.id), tenantId, traceId]),
    );
  }

  hasCompetitor(tenantId: string, { traceId, id, kind }: SpanRecord, top: RunRow): boolean {
    return (
      this.#statements.findCompetitor.all([tenantId, traceId, idOf(top.id), kind, id]).length > 0
    );
  }

  insert(tenantId: string, { span, hasProject, run }: SpanRow): void {
    const { traceId, id, parentId, kind } = span;
    this.#statements.insert.run([
      tenantId,
      traceId,
      id,
      parentId,
      kind,
      hasProject ? 1 : 0,
      run.id,
    ]);
  }

  findRun(id: string): RunRow | undefined {
    const [values] = parseRows(this.#statements.findRun.all([id]));
    return values === undefined ? undefined : parseRow(values);
  }

  insertRun(run: RunRow): void {
    this.#metrics.mark(run.projectId, run.startMicros);
    this.#statements.insertRun.run(rowToValues(run));
  }

  placeRun(previous: RunRow, run: RunRow): void {
    this.#metrics.mark(previous.projectId, previous.startMicros);
    this.#metrics.mark(run.projectId, previous.startMicros);
    if (run.traceId !== previous.traceId) {
      this.#metrics.markTrace(previous.traceId);
      this.#statements.updateTraceIds.forEach((updateTraceId) =>
        updateTraceId.run([run.traceId, previous.traceId, run.id]),
      );
    }
    this.#statements.placeRun.run([run.dottedOrder, run.parentRunId, run.projectId, run.id]);
    this.#metrics.markTrace(run.traceId);
  }

  changeRunId({ traceId, id, projectId, startMicros }: RunRow, newId: string): void {
    // The run may become the root of its trace, or stop being the root.
    this.#metrics.mark(projectId, startMicros);
    this.#statements.updateIds.forEach((statement) => statement.run([newId, traceId, id]));
    const checksumChange = computeChecksumChange([id], [newId]);
    this.#statements.updateIdsAndChecksums.forEach((statement) =>
      statement.run([newId, traceId, id, checksumChange]),
    );
    this.#statements.changeRunOfSpan.run([newId, id]);
  }

  extendTimes(
    placeholder: RunRow,
    times: { readonly startMicros: number; readonly endMicros: number },
  ): void {
    this.#metrics.mark(placeholder.projectId, placeholder.startMicros);
    this.#metrics.mark(placeholder.projectId, times.startMicros);
    this.#statements.extendTimes.run([times.startMicros, times.endMicros, placeholder.id]);
  }

  deleteIfEmpty(tenantId: string, key: string): void {
    this.#statements.deleteIfEmpty.run([key, tenantId]);
  }
}

const toSpanRows = (rows: readonly unknown[]): readonly SpanRow[] =>
  parseRows(rows).map(([traceId, id, parentId, kind, hasProject, ...run]) => ({
    span: {
      traceId: String(traceId),
      id: String(id),
      parentId: typeof parentId === "string" ? parentId : null,
      kind: String(kind) as SpanRecord["kind"],
    },
    hasProject: hasProject === 1,
    run: parseRow(run),
  }));
