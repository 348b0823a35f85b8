import { minuteMicros, hourMicros, dayMicros } from "../../model/durations.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { dimensions, markLevels } from "../metrics.ts";
import type { ComputedMetrics, Mark, MetricBodies, MetricWrites } from "../metrics.ts";
import { newVersionSql, raiseVersionSql } from "./metric-tables.ts";

const minutesPerHour = hourMicros / minuteMicros;
const hoursPerDay = dayMicros / hourMicros;

/** Stores computed metrics, on the only connection that writes. */
export class MetricWriter implements MetricWrites {
  readonly #statements;

  constructor(db: Connection) {
    this.#statements = {
      deleteMark: db.prepare(
        "DELETE FROM metric_marks WHERE project_id = ? AND level = ? AND unit = ? AND version = ?",
      ),
      mark: db.prepare(
        `INSERT INTO metric_marks VALUES (?, ?, ?, ${newVersionSql}) ${raiseVersionSql}`,
      ),
      delete: db.prepare(
        "DELETE FROM metrics WHERE project_id = ? AND level = ? AND dimension = ? AND unit >= ? AND unit < ?",
      ),
      insert: db.prepare("INSERT INTO metrics VALUES (?, ?, ?, ?, ?)"),
    };
  }

  /**
   * Stores metrics and deletes their marks. Metrics whose unit was marked again while they were computed are dropped:
   * they may lack the change. The larger unit that contains a stored unit is marked, because it must be merged again.
   */
  store(computed: readonly ComputedMetrics[]): void {
    computed.forEach((metrics) => this.#store(metrics));
  }

  #store({ mark, minutes, merged }: ComputedMetrics): void {
    const { projectId, level, unit, version } = mark;
    if (this.#statements.deleteMark.run([projectId, level, unit, version]).changes === 0) {
      return;
    }
    const mergedUnits = merged === undefined ? [] : [merged];
    const markOuter = (outerLevel: number, outerUnit: number): void => {
      this.#statements.mark.run([projectId, outerLevel, outerUnit]);
    };
    switch (level) {
      case markLevels.minute:
        this.#replace(mark, { level: markLevels.minute, from: unit, to: unit + 1 }, minutes);
        markOuter(markLevels.hour, Math.floor(unit / minutesPerHour));
        return;
      case markLevels.unreadHour: {
        const from = unit * minutesPerHour;
        const range = { level: markLevels.minute, from, to: from + minutesPerHour };
        this.#replace(mark, range, minutes);
        this.#replace(mark, { level: markLevels.hour, from: unit, to: unit + 1 }, mergedUnits);
        markOuter(markLevels.day, Math.floor(unit / hoursPerDay));
        return;
      }
      case markLevels.hour:
        this.#replace(mark, { level: markLevels.hour, from: unit, to: unit + 1 }, mergedUnits);
        markOuter(markLevels.day, Math.floor(unit / hoursPerDay));
        return;
      case markLevels.day:
        this.#replace(mark, { level: markLevels.day, from: unit, to: unit + 1 }, mergedUnits);
    }
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
