import { minuteMicros } from "../../model/durations.ts";
import type { RunMetrics, TraceMember } from "../../runs/run-writer-dependencies.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { markLevels } from "../metrics.ts";
import { createRootCondition, newVersionSql, raiseVersionSql, unitSql } from "./metric-tables.ts";

/**
 * Marks the minutes whose metrics a write makes stale, so that they are computed again later. Marking is part of the
 * transaction of the write.
 */
export class MetricMarker implements RunMetrics {
  readonly #mark;
  /** The units that are marked in this batch already: most runs of a batch start in the same minute. */
  readonly #marked = new Set<string>();
  /** The unit that was marked last; the next run is mostly in the same one. */
  #lastUnit: number | undefined;
  #lastProjectId = "";
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
    this.#lastUnit = undefined;
  }

  mark(projectId: string, startMicros: number, run?: TraceMember): void {
    if (run !== undefined && run.parentRunId === null && run.id.startsWith(run.traceId)) {
      // The mark of the root is set by this call, whatever its minute is.
      this.#markedTraces.add(run.traceId);
    }
    const unit = Math.floor(startMicros / minuteMicros);
    if (unit === this.#lastUnit && projectId === this.#lastProjectId) {
      return;
    }
    this.#lastUnit = unit;
    this.#lastProjectId = projectId;
    const key = `${unit} ${projectId}`;
    if (!this.#marked.has(key)) {
      this.#marked.add(key);
      this.#mark.run([projectId, unit]);
    }
  }

  /**
   * Marks the minute of the trace's root if the root is stored already. A root that this batch stores, before or after
   * this call, is marked by its own call of `mark`.
   */
  markTrace(traceId: string): void {
    if (!this.#markedTraces.has(traceId)) {
      this.#markedTraces.add(traceId);
      this.#markRoot.run([traceId]);
    }
  }
}
