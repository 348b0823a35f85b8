import { dimensions, hourMicros, markLevels, minuteMicros } from "../metrics.ts";

/** Milliseconds of the start of runs, as intervals of ten seconds in the table `run_counts`, that make an hour. */
const countIntervalsPerHour = 360;

/** SQL for the unit of time of a row. SQLite's division rounds towards zero, which would be wrong before 1970. */
const unitSql = (row: string, micros: number): string =>
  `((${row}.start_us - (${row}.start_us < 0) * ${micros - 1}) / ${micros})`;

/** A new version of a mark. It is random, so that a mark that was deleted and set again never has its old version. */
export const newVersionSql = "abs(random() >> 11)";

/** SQL that marks a unit again, if it is marked already. */
export const raiseVersionSql =
  "ON CONFLICT (project_id, level, unit) DO UPDATE SET version = version + 1";

const allDimensions = dimensions.map((_name, index) => index).join(", ");

/**
 * SQL that creates the tables of metrics: counts of runs by minute and by hour, and marks of those that are out of date.
 * All hours of existing runs are marked, so that a thread computes their metrics in the background. The metrics of a deleted run
 * are deleted with it, because they contain its name, tags and user.
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
      DELETE FROM metrics WHERE project_id = OLD.project_id AND level = ${markLevels.minute} AND dimension IN (${allDimensions})
        AND unit = ${unitSql("OLD", minuteMicros)};
      DELETE FROM metrics WHERE project_id = OLD.project_id AND level = ${markLevels.hour} AND dimension IN (${allDimensions})
        AND unit = ${unitSql("OLD", hourMicros)};
      INSERT INTO metric_marks VALUES (OLD.project_id, ${markLevels.minute}, ${unitSql("OLD", minuteMicros)}, ${newVersionSql})
        ${raiseVersionSql};
    END;
  CREATE TRIGGER metrics_gone AFTER DELETE ON projects
    BEGIN
      DELETE FROM metrics WHERE project_id = OLD.id;
      DELETE FROM metric_marks WHERE project_id = OLD.id;
    END;
`;
