import { hourMicros, minuteMicros } from "../../model/durations.ts";
import { allDimension } from "../metric-summary.ts";
import { dimensions, markLevels, unitMicros } from "../metrics.ts";
import { createFloorDivisionSql } from "../../storage/sqlite/floor-division.ts";

const minutesPerHour = hourMicros / minuteMicros;

/** Number of intervals of the table `run_counts` in an hour. Each interval has ten seconds. */
const countIntervalsPerHour = 360;

/** SQL for the number of the unit of time in which a run starts. */
export const unitSql = (row: string, micros: number): string =>
  createFloorDivisionSql(`${row}.start_us`, micros);

/** A new version of a mark. It is random, so that a mark that was deleted and set again never has its old version. */
export const newVersionSql = "abs(random() >> 11)";

/** SQL that marks a unit again, if it is marked already. */
export const raiseVersionSql =
  "ON CONFLICT (project_id, level, unit) DO UPDATE SET version = version + 1";

/**
 * SQL for the condition that a run is the root of a trace. The key of the root is the id of the trace, or that id
 * followed by a slash and the tenant; a slash sorts before the digit 0.
 */
export const createRootCondition = (row: string, traceId: string): string =>
  `${row}.trace_id = ${traceId} AND ${row}.id >= ${traceId} AND ${row}.id < ${traceId} || '0' AND ${row}.parent_run_id IS NULL`;

const allDimensions = dimensions.map((_name, index) => index).join(", ");

/** SQL that deletes the metrics of the minute, hour and day of a deleted run. */
const deleteMetricsSql = (["minute", "hour", "day"] as const)
  .map(
    (
      level,
    ) => `DELETE FROM metrics WHERE project_id = OLD.project_id AND level = ${markLevels[level]}
        AND dimension IN (${allDimensions}) AND unit = ${unitSql("OLD", unitMicros[level])};`,
  )
  .join(" ");

/**
 * SQL that creates the tables of metrics: counts of runs by minute, hour and day, and marks of those that are out of
 * date. All hours of existing runs are marked, so that a thread computes their metrics in the background. The metrics
 * of a deleted run are deleted with it, because they contain its name, tags and user.
 */
export const metricTables = `
  CREATE TABLE metrics (
    project_id TEXT NOT NULL, level INTEGER NOT NULL, dimension INTEGER NOT NULL, unit INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (project_id, level, dimension, unit)
  ) WITHOUT ROWID;
  CREATE TABLE metric_marks (
    project_id TEXT NOT NULL, level INTEGER NOT NULL, unit INTEGER NOT NULL, version INTEGER NOT NULL,
    PRIMARY KEY (project_id, level, unit)
  ) WITHOUT ROWID;
  INSERT INTO metric_marks
    SELECT DISTINCT project_id, ${markLevels.unreadHour}, block / ${countIntervalsPerHour}, 1 FROM run_counts WHERE runs > 0;
  CREATE TRIGGER metric_marks_deleted AFTER DELETE ON runs
    BEGIN
      ${deleteMetricsSql}
      INSERT INTO metric_marks VALUES (OLD.project_id, ${markLevels.minute}, ${unitSql("OLD", minuteMicros)}, ${newVersionSql})
        ${raiseVersionSql};
      INSERT INTO metric_marks SELECT r.project_id, ${markLevels.minute}, ${unitSql("r", minuteMicros)}, ${newVersionSql}
        FROM runs r WHERE ${createRootCondition("r", "OLD.trace_id")} ${raiseVersionSql};
    END;
  CREATE TRIGGER metrics_gone AFTER DELETE ON projects
    BEGIN
      DELETE FROM metrics WHERE project_id = OLD.id;
      DELETE FROM metric_marks WHERE project_id = OLD.id;
    END;
`;

/**
 * SQL that marks all hours with stored metrics as unread, so that they are counted again: earlier versions did not
 * count the first tokens of traces.
 */
export const traceFirstTokenMarks = `
  INSERT INTO metric_marks
    SELECT DISTINCT m.project_id, ${markLevels.unreadHour}, ${createFloorDivisionSql("m.unit", minutesPerHour)}, 1
    FROM projects p CROSS JOIN metrics m ON m.project_id = p.id
    WHERE m.level = ${markLevels.minute} AND m.dimension = ${dimensions.indexOf(allDimension)}
    ${raiseVersionSql};
`;
