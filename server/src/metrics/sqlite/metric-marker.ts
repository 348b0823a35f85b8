import type { RunMetrics } from "../../runs/run-writer-dependencies.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { markLevels, minuteMicros } from "../metrics.ts";
import { createRootCondition, newVersionSql, raiseVersionSql, unitSql } from "./metric-tables.ts";

/** Marks the minutes whose metrics a write changes, in the transaction of the write. */
export class MetricMarker implements RunMetrics {
  readonly #mark;
  /** The units that are marked in this batch already: most runs of a batch start in the same minute. */
  readonly #marked = new Set<string>();
  #lastKey: string | undefined;
  readonly #markRoot;
  readonly #markedTraces = new Set<string>();

  constructor(db: Connection) {
    this.#mark = db.prepare(
      `INSERT INTO metric_marks VALUES (?, ${markLevels.minute}, ?, ${newVersionSql}) ${raiseVersionSql}`,
    );
    this.#markRoot = db.prepare(
      `INSERT INTO metric_marks SELECT r.project_id, ${markLevels.minute}, ${unitSql("r", minuteMicros)}, ${newVersionSql}
       FROM runs r WHERE ${createRootCondition("r", "?1")} ${raiseVersionSql}`,
    );
  }

  beginBatch(): void {
    this.#marked.clear();
    this.#markedTraces.clear();
    this.#lastKey = undefined;
  }

  mark(projectId: string, startMicros: number): void {
    const unit = Math.floor(startMicros / minuteMicros);
    const key = `${unit} ${projectId}`;
    if (key === this.#lastKey || this.#marked.has(key)) {
      return;
    }
    this.#lastKey = key;
    this.#marked.add(key);
    this.#mark.run([projectId, unit]);
  }

  /** A root that is stored later in the batch is marked then. */
  markTrace(traceId: string): void {
    if (!this.#markedTraces.has(traceId)) {
      this.#markedTraces.add(traceId);
      this.#markRoot.run([traceId]);
    }
  }
}
