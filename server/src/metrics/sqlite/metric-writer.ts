import type { Connection } from "../../storage/sqlite/connection.ts";
import { dimensions, hourMicros, markLevels, minuteMicros } from "../metrics.ts";
import type { ComputedMetrics, Mark, MetricBodies, MetricWrites } from "../metrics.ts";
import { newVersionSql, raiseVersionSql } from "./metric-tables.ts";

const minutesPerHour = hourMicros / minuteMicros;

/** Stores computed metrics, on the only connection that writes. */
export class MetricWriter implements MetricWrites {
  readonly #statements;

  constructor(db: Connection) {
    this.#statements = {
      deleteMark: db.prepare(
        "DELETE FROM metric_marks WHERE project_id = ? AND level = ? AND unit = ? AND version = ?",
      ),
      markHour: db.prepare(
        `INSERT INTO metric_marks VALUES (?, ${markLevels.hour}, ?, ${newVersionSql}) ${raiseVersionSql}`,
      ),
      listMinuteMarks: db
        .prepare(
          `SELECT 1 FROM metric_marks WHERE project_id = ? AND level = ${markLevels.minute} AND unit >= ? AND unit < ? LIMIT 1`,
        )
        .raw(),
      delete: db.prepare(
        "DELETE FROM metrics WHERE project_id = ? AND level = ? AND dimension = ? AND unit >= ? AND unit < ?",
      ),
      insert: db.prepare("INSERT INTO metrics VALUES (?, ?, ?, ?, ?)"),
    };
  }

  /**
   * Stores metrics and deletes their marks. Metrics whose unit was marked again while they were computed are dropped: they
   * may lack the change.
   */
  store(computed: readonly ComputedMetrics[]): void {
    computed.forEach((metrics) => this.#store(metrics));
  }

  #store({ mark, minutes, hour }: ComputedMetrics): void {
    const { projectId, level, unit, version } = mark;
    if (level === markLevels.hour && this.#hasMinuteMarks(mark)) {
      return;
    }
    if (this.#statements.deleteMark.run([projectId, level, unit, version]).changes === 0) {
      return;
    }
    if (level === markLevels.minute) {
      this.#replace(mark, { level: markLevels.minute, from: unit, to: unit + 1 }, minutes);
      this.#statements.markHour.run([projectId, Math.floor(unit / minutesPerHour)]);
      return;
    }
    if (level === markLevels.unreadHour) {
      const from = unit * minutesPerHour;
      const range = { level: markLevels.minute, from, to: from + minutesPerHour };
      this.#replace(mark, range, minutes);
    }
    const hours = hour === undefined ? [] : [hour];
    this.#replace(mark, { level: markLevels.hour, from: unit, to: unit + 1 }, hours);
  }

  #hasMinuteMarks({ projectId, unit }: Mark): boolean {
    const from = unit * minutesPerHour;
    return (
      this.#statements.listMinuteMarks.all([projectId, from, from + minutesPerHour]).length > 0
    );
  }

  #replace(
    { projectId }: Mark,
    range: { readonly level: number; readonly from: number; readonly to: number },
    units: readonly MetricBodies[],
  ): void {
    const { level, from, to } = range;
    dimensions.forEach((_name, dimension) =>
      this.#statements.delete.run([projectId, level, dimension, from, to]),
    );
    for (const { unit, bodies } of units) {
      for (const [dimension, body] of bodies.entries()) {
        this.#statements.insert.run([projectId, level, dimension, unit, body]);
      }
    }
  }
}
