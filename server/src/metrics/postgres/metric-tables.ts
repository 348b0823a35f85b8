import { minuteMicros, hourMicros } from "../../model/durations.ts";
import { createModelCallSql } from "../../runs/usage/run-cost.ts";
import { allDimension } from "../metric-summary.ts";
import { dimensions, markLevels, unitMicros } from "../metrics.ts";

const text = 'TEXT COLLATE "C"';
const tenantColumn = `tenant_id ${text} NOT NULL DEFAULT current_setting('millrace.tenant')`;

/**
 * SQL for the number of the unit of time in which a run starts. PostgreSQL's division rounds towards zero, which would
 * be wrong before 1970.
 */
const unitSql = (row: string, micros: number): string =>
  `((${row}.start_us - (CASE WHEN ${row}.start_us < 0 THEN ${micros - 1} ELSE 0 END)) / ${micros})`;

/**
 * SQL for the lock that deletions of runs share, and that the counter holds alone while it stores metrics. Without the
 * lock, metrics that were counted before a deletion could be stored after it. They would contain the names and users of
 * deleted runs.
 */
export const metricLockSql = "hashtext('millrace.metrics')";

/** SQL that deletes the metrics of the minutes, hours and days of runs, because they contain names, tags and users. */
const createDeleteMetricsSql = (runs: string): string => `
  PERFORM pg_advisory_xact_lock_shared(${metricLockSql});
  ${createDeleteUnitsSql(runs)};`;

/** Lists each dimension, so that PostgreSQL can use the key of the table, in which the dimension precedes the unit. */
const createDeleteUnitsSql = (runs: string): string =>
  `DELETE FROM metrics m USING (
    SELECT u.*, d.dimension FROM (${(["minute", "hour", "day"] as const)
      .map(
        (level) =>
          `SELECT DISTINCT c.tenant_id, c.project_id, ${markLevels[level]} AS level, ${unitSql("c", unitMicros[level])} AS unit FROM ${runs} c`,
      )
      .join(
        " UNION ALL ",
      )}) u CROSS JOIN generate_series(0, ${dimensions.length - 1}) d (dimension)) g
    WHERE m.tenant_id = g.tenant_id AND m.project_id = g.project_id AND m.level = g.level AND m.dimension = g.dimension
      AND m.unit = g.unit`;

/**
 * SQL that marks the minutes of runs. If a run is counted in the sums of its trace, the minute of the trace's root is
 * marked, too. A root that is one of the runs is marked already, so usually no root must be searched for. A root is in
 * the same partition as its runs, unless the partition of either is not known yet. Then all partitions are searched.
 */
const createMarkSql = (runs: string): string => `
  INSERT INTO metric_marks (tenant_id, project_id, level, unit)
    SELECT DISTINCT c.tenant_id, c.project_id, ${markLevels.minute}, ${unitSql("c", minuteMicros)} FROM ${runs} c
    ON CONFLICT DO NOTHING;
  IF EXISTS (SELECT FROM ${runs} c WHERE ${createFarRootCondition(runs)}) THEN
    INSERT INTO metric_marks (tenant_id, project_id, level, unit)
      SELECT DISTINCT t.tenant_id, coalesce(n.project_id, f.project_id), ${markLevels.minute}, coalesce(n.unit, f.unit)
        FROM (SELECT DISTINCT c.tenant_id, c.trace_id, c.root_us FROM ${runs} c WHERE ${createFarRootCondition(runs)}) t
        LEFT JOIN LATERAL (${createRootSql("AND r.root_us = t.root_us")}) n ON true
        LEFT JOIN LATERAL (${createRootSql("AND n.unit IS NULL")}) f ON true
        WHERE coalesce(n.unit, f.unit) IS NOT NULL
      ON CONFLICT DO NOTHING;
  END IF;`;

/** The condition that the sums of a trace contain the usage or the first token of the run `c`. */
const summedCondition = `(${createModelCallSql("c.run_type")} OR c.first_token_us IS NOT NULL)`;

/**
 * The condition that a run is counted in the sums of its trace, and that the root of its trace is not among the runs.
 */
function createFarRootCondition(runs: string): string {
  return `${summedCondition} AND NOT EXISTS (SELECT FROM ${runs} o
    WHERE o.tenant_id = c.tenant_id AND o.id = c.trace_id AND o.trace_id = c.trace_id)`;
}

/** SQL that selects the root of the trace `t`, with the minute in which it started. */
function createRootSql(condition: string): string {
  return `SELECT r.project_id, ${unitSql("r", minuteMicros)} AS unit FROM runs r
    WHERE r.tenant_id = t.tenant_id AND r.trace_id = t.trace_id AND r.id = t.trace_id AND r.parent_run_id IS NULL ${condition}`;
}

/**
 * Statements that do for runs of a removed week what the triggers do for deleted runs. Whole hours are marked, because
 * usually no run is left in them.
 *
 * @param table - the table with the runs of the week; `rowsSql` is a subquery that selects the rows that are deleted in this step
 */
export function createForgetMetricsSql({
  table,
  rowsSql,
}: {
  readonly table: string;
  readonly rowsSql: string;
}): readonly string[] {
  return [
    `SELECT pg_advisory_xact_lock_shared(${metricLockSql})`,
    `INSERT INTO metric_marks (tenant_id, project_id, level, unit)
       SELECT DISTINCT c.tenant_id, c.project_id, ${markLevels.unreadHour}, ${unitSql("c", hourMicros)} FROM ${rowsSql} c
       ON CONFLICT DO NOTHING`,
    // The roots above the runs may be in other weeks.
    `INSERT INTO metric_marks (tenant_id, project_id, level, unit)
       SELECT DISTINCT t.tenant_id, f.project_id, ${markLevels.minute}, f.unit
         FROM (SELECT DISTINCT c.tenant_id, c.trace_id, c.root_us FROM ${rowsSql} c WHERE ${summedCondition}) t,
           LATERAL (${createRootSql("")}) f
         WHERE NOT EXISTS (SELECT FROM ${table} o WHERE o.tenant_id = t.tenant_id AND o.trace_id = t.trace_id
           AND o.id = t.trace_id AND o.root_us = t.root_us)
       ON CONFLICT DO NOTHING`,
    createDeleteUnitsSql(rowsSql),
  ];
}

const events = [
  ["added", "INSERT", "NEW"],
  ["changed", "UPDATE", "NEW"],
  ["replaced", "UPDATE", "OLD"],
  ["deleted", "DELETE", "OLD"],
] as const;

/** SQL that creates the trigger function of the table `runs`, or replaces the function of an earlier format. */
export const markMetricsFunction = `
  CREATE OR REPLACE FUNCTION mark_metrics() RETURNS TRIGGER LANGUAGE plpgsql AS $$
    BEGIN
      ${createMarkSql("changed_runs")}
      IF TG_OP = 'DELETE' THEN
        ${createDeleteMetricsSql("changed_runs")}
      END IF;
      RETURN NULL;
    END $$;
`;

/**
 * The version of the stored metrics, which must be raised when more is counted. Version 2 added the first tokens of
 * traces. A database with metrics of version 1 has no such setting.
 */
const versionSetting = { key: "metrics_version", value: "2" } as const;

/** SQL that finds a row if the stored metrics are of this version. */
export const findVersionSql = `SELECT key FROM settings WHERE key = '${versionSetting.key}' AND value = '${versionSetting.value}'`;

/**
 * SQL that stores the version, and marks all hours with stored metrics as not yet counted. The server that computes
 * metrics executes it when it begins. A migration would be too early: until all servers are replaced, one of the
 * earlier version may continue to compute metrics.
 */
export const raiseVersionSql = [
  `INSERT INTO settings (key, value) VALUES ('${versionSetting.key}', '${versionSetting.value}')
     ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
  `INSERT INTO metric_marks (tenant_id, project_id, level, unit)
     SELECT DISTINCT m.tenant_id, m.project_id, ${markLevels.unreadHour}, floor(m.unit / ${hourMicros / minuteMicros}.0)::bigint
       FROM projects p JOIN metrics m ON m.tenant_id = p.tenant_id AND m.project_id = p.id
       WHERE m.level = ${markLevels.minute} AND m.dimension = ${dimensions.indexOf(allDimension)}
     ON CONFLICT DO NOTHING`,
] as const;

/**
 * SQL that creates the tables of metrics: counts of runs by minute, hour and day, and marks of those that are out of
 * date.
 *
 * - Every statement that writes `runs` marks the minutes that it changes, in its transaction, by a trigger. So no write
 *   can be forgotten.
 * - Each transaction inserts marks of its own, with its id as their `version`, so transactions that mark the same
 *   minute do not wait for each other. When the counts of a unit are stored, only the marks that were read before
 *   counting are deleted; later marks remain.
 * - All hours of existing runs are marked as not yet counted, so that this is done in the background.
 */
export const metricTables = `
  CREATE TABLE metrics (
    ${tenantColumn}, project_id ${text} NOT NULL, level SMALLINT NOT NULL, dimension SMALLINT NOT NULL, unit BIGINT NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (tenant_id, project_id, level, dimension, unit)
  );
  CREATE TABLE metric_marks (
    ${tenantColumn}, project_id ${text} NOT NULL, level SMALLINT NOT NULL, unit BIGINT NOT NULL,
    version BIGINT NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    marked_us BIGINT NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    PRIMARY KEY (tenant_id, project_id, level, unit, version)
  );
  CREATE INDEX metric_marks_by_unit ON metric_marks (level, (-unit), unit, tenant_id, project_id);
  ${markMetricsFunction}
  ${events
    .map(
      ([name, event, table]) =>
        `CREATE TRIGGER metrics_${name} AFTER ${event} ON runs REFERENCING ${table} TABLE AS changed_runs
           FOR EACH STATEMENT EXECUTE FUNCTION mark_metrics();`,
    )
    .join("\n  ")}
  CREATE FUNCTION delete_metrics() RETURNS TRIGGER LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_advisory_xact_lock_shared(${metricLockSql});
      DELETE FROM metrics WHERE tenant_id = OLD.tenant_id AND project_id = OLD.id;
      DELETE FROM metric_marks WHERE tenant_id = OLD.tenant_id AND project_id = OLD.id;
      RETURN NULL;
    END $$;
  CREATE TRIGGER metrics_gone AFTER DELETE ON projects FOR EACH ROW EXECUTE FUNCTION delete_metrics();
  SET LOCAL millrace.tenant = '*';
  INSERT INTO metric_marks (tenant_id, project_id, level, unit)
    SELECT DISTINCT r.tenant_id, r.project_id, ${markLevels.unreadHour}, ${unitSql("r", hourMicros)} FROM runs r;
`;
