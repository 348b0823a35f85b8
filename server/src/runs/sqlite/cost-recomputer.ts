import { serverLimits } from "../../model/options.ts";
import { createModelCallSql } from "../usage/run-cost.ts";
import type { RecomputeProgress } from "../usage/run-cost.ts";
import { ModelTally } from "../usage/model-tally.ts";
import type { RunMetrics, RunPrices } from "../run-writer-dependencies.ts";
import { MeasureWriter } from "./measure-writer.ts";
import { costColumns, parseRow, unmeasured, wholeColumns } from "./run-columns.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

/** Maximum number of rows that one query scans, and of runs that one query returns. */
const rowsPerScan = 2_000;
const runsPerScan = 100;

/** Computes the costs of stored runs again, in the order in which the runs were stored. */
export class CostRecomputer {
  readonly #measures: MeasureWriter;
  readonly #metrics: RunMetrics;
  readonly #statements;

  constructor(db: Connection, prices: RunPrices, metrics: RunMetrics) {
    this.#metrics = metrics;
    this.#measures = new MeasureWriter(db, prices);
    this.#statements = {
      findLast: db.prepare("SELECT max(rowid) FROM runs").raw(),
      // The unary plus makes SQLite scan by row number: the index on projects would sort all runs first.
      list: db
        .prepare(
          `SELECT rowid, ${wholeColumns.join(", ")}, ${costColumns.join(", ")} FROM runs
           WHERE rowid > ? AND rowid <= ? AND ${createModelCallSql("run_type")} AND measured <> ${unmeasured}
             AND +project_id IN (SELECT id FROM projects WHERE tenant_id = ?)
           ORDER BY rowid LIMIT ${runsPerScan}`,
        )
        .raw(),
    };
  }

  /** Continues after `progress.position`, until `serverLimits.writeSliceMs` have passed or all runs are examined. */
  recomputeSome(tenantId: string, progress: RecomputeProgress): RecomputeProgress {
    const endMs = performance.now() + serverLimits.writeSliceMs;
    this.#metrics.beginBatch();
    const last = Number(parseRows(this.#statements.findLast.all())[0]?.[0] ?? 0);
    const models = new ModelTally(progress.unknownModels);
    let { position, examined, changed, unreadable } = progress;
    let isLate = false;
    while (position < last && !isLate) {
      const scanEnd = position + rowsPerScan;
      const rows = parseRows(this.#statements.list.all([position, scanEnd, tenantId]));
      position = rows.length < runsPerScan ? Math.min(scanEnd, last) : position;
      for (const [rowId, ...values] of rows) {
        const row = parseRow(values);
        const result = this.#measures.recompute(tenantId, row, values.slice(wholeColumns.length));
        examined += 1;
        if (result.kind === "changed") {
          changed += 1;
          this.#metrics.mark(row.projectId, row.startMicros);
          this.#metrics.markTrace(row.traceId);
        }
        unreadable += result.kind === "unreadable" ? 1 : 0;
        if (result.unknownModel !== undefined) {
          models.add(result.unknownModel);
        }
        isLate = performance.now() > endMs;
        if (isLate || rows.length === runsPerScan) {
          position = Number(rowId);
        }
        if (isLate) {
          break;
        }
      }
      isLate ||= performance.now() > endMs;
    }
    return {
      position,
      last,
      isDone: position >= last,
      examined,
      changed,
      unreadable,
      unknownModels: models.counts,
    };
  }
}
