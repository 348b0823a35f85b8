import type { RunMetrics } from "../../runs/run-writer-dependencies.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { markLevels, minuteMicros } from "../metrics.ts";
import { newVersionSql, raiseVersionSql } from "./metric-tables.ts";

/** Marks the minutes whose metrics a write changes, in the transaction of the write. */
export class MetricMarker implements RunMetrics {
  readonly #mark;
  /** The units that are marked in this batch already: most runs of a batch start in the same minute. */
  readonly #marked = new Set<string>();
  #lastKey: string | undefined;

  constructor(db: Connection) {
    this.#mark = db.prepare(
      `INSERT INTO metric_marks VALUES (?, ${markLevels.minute}, ?, ${newVersionSql}) ${raiseVersionSql}`,
    );
  }

  beginBatch(): void {
    this.#marked.clear();
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
}
