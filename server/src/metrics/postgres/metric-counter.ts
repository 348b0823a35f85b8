import { minuteMicros, hourMicros, dayMicros } from "../../model/durations.ts";
import { serverLimits } from "../../model/options.ts";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import type { MetricCounts } from "../metric-body.ts";
import { dimensions, markLevels, unitMicros } from "../metrics.ts";
import type { ComputedMetrics, Mark, MarkLevel, MetricBodies } from "../metrics.ts";
import { countByMinute, toRange } from "../outdated-units.ts";
import { createCounts } from "../scanned-run.ts";
import { encodeMinutes, mergeMinutes, toBodies } from "../unit-bodies.ts";
import { PostgresMetricScanner } from "./metric-scanner.ts";
import { findVersionSql, metricLockSql, raiseVersionSql } from "./metric-tables.ts";

/**
 * Maximum number of marks that one step reads. A mark says that the stored metrics of a unit of time are out of date.
 */
const marksPerStep = 200;

/** Milliseconds after which a step takes no further mark. */
const stepMs = 200;

const minutesPerHour = hourMicros / minuteMicros;
const hoursPerDay = dayMicros / hourMicros;

/** A unit that is out of date, with the versions of all marks that it had when it was listed. */
interface MarkedUnit extends Omit<Mark, "version"> {
  readonly tenantId: string;
  readonly versions: readonly string[];
}

interface CountedUnit extends Omit<ComputedMetrics, "mark"> {
  readonly mark: MarkedUnit;
}

/** A range of units whose stored metrics are replaced. */
interface ReplacedUnits {
  readonly level: number;
  /** The number of the first unit. */
  readonly from: number;
  /** The number of the unit after the last one. */
  readonly to: number;
  readonly units: readonly MetricBodies[];
}

/** Computes the metrics that are out of date, and stores them. */
export class PostgresMetricCounter {
  readonly #db: PostgresDatabase;
  readonly #scanner: PostgresMetricScanner;
  /** Whether the stored metrics are known to be of the version that this server computes. */
  #isCurrentVersion = false;

  constructor(db: PostgresDatabase) {
    this.#db = db;
    this.#scanner = new PostgresMetricScanner(db);
  }

  /**
   * Computes the metrics of some units in the transaction of the caller, and returns whether there was any unit to
   * compute. The transaction must be at level READ COMMITTED: the runs are read after the marks, so they include the
   * changes for which the marks were set.
   *
   * A unit that is still being written to is left for later: runs are patched soon after they were posted, and each
   * change would make its metrics out of date again.
   *
   * @param settleMs - a minute is counted only if it was not marked during the last `settleMs` milliseconds; hours and
   * days wait until nothing in them is marked
   */
  async count(settleMs: number = serverLimits.metricSettleMs): Promise<boolean> {
    const endMs = performance.now() + stepMs;
    await this.#markEarlierVersion();
    const counted: CountedUnit[] = [];
    for (const mark of await this.#listMarked(settleMs)) {
      counted.push(await this.#countUnit(mark));
      if (performance.now() > endMs) {
        break;
      }
    }
    if (counted.length === 0) {
      return false;
    }
    // Deletions share this lock until they commit, so their marks are visible from here on. Counts from before a
    // deletion are then not stored after it.
    await this.#db.query(`SELECT pg_advisory_xact_lock(${metricLockSql})`);
    for (const unit of counted) {
      await this.#store(unit);
    }
    return true;
  }

  /** Marks all stored metrics if an earlier version of the server has computed them. */
  async #markEarlierVersion(): Promise<void> {
    if (this.#isCurrentVersion) {
      return;
    }
    const { rows } = await this.#db.query(findVersionSql);
    if (rows.length > 0) {
      this.#isCurrentVersion = true;
      return;
    }
    // The next step reads the version again, because the transaction of this one may be rolled back.
    for (const sql of raiseVersionSql) {
      await this.#db.query(sql);
    }
  }

  /** Lists units that can be counted. Minutes come first, the latest ones first: people look at those most. */
  async #listMarked(settleMs: number): Promise<readonly MarkedUnit[]> {
    const { rows } = await this.#db.query<{
      readonly tenant_id: string;
      readonly project_id: string;
      readonly level: MarkLevel;
      readonly unit: number;
      readonly versions: readonly string[];
    }>(listMarkedSql, [Math.floor((Date.now() - settleMs) * 1_000)]);
    return rows.map((row) => ({
      tenantId: row.tenant_id,
      projectId: row.project_id,
      level: row.level,
      unit: row.unit,
      versions: row.versions,
    }));
  }

  async #countUnit(mark: MarkedUnit): Promise<CountedUnit> {
    const { tenantId, projectId, level, unit } = mark;
    if (level === markLevels.hour || level === markLevels.day) {
      return { mark, minutes: [], merged: await this.#merge(mark) };
    }
    const micros = level === markLevels.minute ? minuteMicros : hourMicros;
    const countsByStart = new Map<number, MetricCounts[]>();
    const query = { tenantId, projectId, ...toRange(unit, micros), withPayloads: true };
    for await (const runs of this.#scanner.scan(query)) {
      countByMinute(countsByStart, runs);
    }
    const minutes = encodeMinutes(countsByStart);
    return {
      mark,
      minutes,
      merged: level === markLevels.unreadHour ? mergeMinutes(unit, minutes) : undefined,
    };
  }

  /** Merges the minutes of an hour, or the hours of a day. */
  async #merge({
    tenantId,
    projectId,
    level,
    unit,
  }: MarkedUnit): Promise<MetricBodies | undefined> {
    const isDay = level === markLevels.day;
    const innerCount = isDay ? hoursPerDay : minutesPerHour;
    const { rows } = await this.#db.query<{
      readonly dimension: number;
      readonly body: Uint8Array;
    }>(
      `SELECT dimension, body FROM metrics WHERE tenant_id = $1 AND project_id = $2 AND level = $3::smallint
         AND dimension IN (${dimensionList}) AND unit >= $4::bigint AND unit < $5::bigint ORDER BY dimension, unit`,
      [
        tenantId,
        projectId,
        isDay ? markLevels.hour : markLevels.minute,
        unit * innerCount,
        (unit + 1) * innerCount,
      ],
    );
    const counts = createCounts();
    for (const { dimension, body } of rows) {
      counts[dimension]?.merge(body);
    }
    return toBodies(unit, counts);
  }

  /**
   * Stores the metrics of a unit and deletes its marks. Metrics whose unit was marked again meanwhile, or which another
   * server has counted, are dropped: they may lack the change. The larger unit that contains a stored unit is marked,
   * because it must be merged again.
   */
  async #store({ mark, minutes, merged }: CountedUnit): Promise<void> {
    const { tenantId, projectId, level, unit, versions } = mark;
    const { rows } = await this.#db.query<{ readonly version: string; readonly exists: boolean }>(
      `SELECT m.version::text AS version,
         EXISTS (SELECT FROM projects p WHERE p.tenant_id = $1 AND p.id = $2) AS exists
       FROM metric_marks m WHERE tenant_id = $1 AND project_id = $2 AND level = $3::smallint AND unit = $4::bigint`,
      [tenantId, projectId, level, unit],
    );
    const known = new Set(versions);
    if (rows.length !== known.size || rows.some(({ version }) => !known.has(version))) {
      return;
    }
    await this.#db.query(
      `DELETE FROM metric_marks WHERE tenant_id = $1 AND project_id = $2 AND level = $3::smallint AND unit = $4::bigint
         AND version = ANY($5::bigint[])`,
      [tenantId, projectId, level, unit, versions],
    );
    if (rows[0]?.exists === true) {
      for (const replaced of listReplaced({ mark, minutes, merged })) {
        await this.#replace(mark, replaced);
      }
      await this.#markOuter(mark);
    }
  }

  async #markOuter({ tenantId, projectId, level, unit }: MarkedUnit): Promise<void> {
    if (level === markLevels.day) {
      return;
    }
    const isMinute = level === markLevels.minute;
    await this.#db.query(
      `INSERT INTO metric_marks (tenant_id, project_id, level, unit) VALUES ($1, $2, $3::smallint, $4::bigint)
       ON CONFLICT DO NOTHING`,
      [
        tenantId,
        projectId,
        isMinute ? markLevels.hour : markLevels.day,
        Math.floor(unit / (isMinute ? minutesPerHour : hoursPerDay)),
      ],
    );
  }

  /** Replaces stored metrics. The serialized metrics of all units are sent as one parameter, one after the other. */
  async #replace(
    { tenantId, projectId }: MarkedUnit,
    { level, from, to, units }: ReplacedUnits,
  ): Promise<void> {
    await this.#db.query(
      `DELETE FROM metrics WHERE tenant_id = $1 AND project_id = $2 AND level = $3::smallint
         AND dimension IN (${dimensionList}) AND unit >= $4::bigint AND unit < $5::bigint`,
      [tenantId, projectId, level, from, to],
    );
    const rows = units.flatMap(({ unit, bodies }) =>
      bodies.map((body, dimension) => ({ unit, body, dimension })),
    );
    if (rows.length > 0) {
      let start = 1;
      const starts = rows.map(({ body }) => (start += body.length) - body.length);
      await this.#db.query(
        `INSERT INTO metrics (tenant_id, project_id, level, dimension, unit, body)
         SELECT $1, $2, $3::smallint, i.dimension, i.unit, substr($8::bytea, i.start, i.length)
         FROM unnest($4::smallint[], $5::bigint[], $6::int[], $7::int[]) i (dimension, unit, start, length)`,
        [
          tenantId,
          projectId,
          level,
          rows.map(({ dimension }) => dimension),
          rows.map(({ unit }) => unit),
          starts,
          rows.map(({ body }) => body.length),
          Buffer.concat(rows.map(({ body }) => body)),
        ],
      );
    }
  }
}

/** The stored metrics that a counted unit replaces. */
function listReplaced({ mark, minutes, merged }: CountedUnit): readonly ReplacedUnits[] {
  const { level, unit } = mark;
  const own = { from: unit, to: unit + 1, units: merged === undefined ? [] : [merged] };
  switch (level) {
    case markLevels.minute:
      return [{ level, from: unit, to: unit + 1, units: minutes }];
    case markLevels.unreadHour: {
      const from = unit * minutesPerHour;
      return [
        { level: markLevels.minute, from, to: from + minutesPerHour, units: minutes },
        { ...own, level: markLevels.hour },
      ];
    }
    default:
      return [{ ...own, level }];
  }
}

/**
 * SQL list of all dimensions. With this list, PostgreSQL searches the primary key of the table once for each dimension.
 */
const dimensionList = dimensions.map((_name, index) => index).join(", ");

/**
 * SQL condition on `g`, a row of the outer query: a smaller unit of time within its unit is marked, too. `count` is the
 * number of units of this level in the unit of `g`.
 */
const createInnerMarkSql = (level: MarkLevel, count: number): string =>
  `EXISTS (SELECT FROM metric_marks i WHERE i.tenant_id = g.tenant_id AND i.project_id = g.project_id AND i.level = ${level}
     AND i.unit >= g.unit * ${count} AND i.unit < (g.unit + 1) * ${count})`;

const minutesPerDay = unitMicros.day / unitMicros.minute;

/**
 * Lists the units to count. Hours and days in which smaller units are marked are left out, because they would have to
 * be merged again.
 */
const listMarkedSql = `SELECT g.tenant_id, g.project_id, g.level, g.unit, g.versions FROM (
    SELECT tenant_id, project_id, level, unit, array_agg(version::text) AS versions, max(marked_us) AS marked_us
      FROM metric_marks GROUP BY level, (-unit), unit, tenant_id, project_id) g
  WHERE CASE g.level
      WHEN ${markLevels.minute} THEN g.marked_us <= $1::bigint
      WHEN ${markLevels.hour} THEN NOT (${createInnerMarkSql(markLevels.minute, minutesPerHour)}
        OR ${createInnerMarkSql(markLevels.unreadHour, 1)})
      WHEN ${markLevels.day} THEN NOT (${createInnerMarkSql(markLevels.minute, minutesPerDay)}
        OR ${createInnerMarkSql(markLevels.unreadHour, hoursPerDay)} OR ${createInnerMarkSql(markLevels.hour, hoursPerDay)})
      ELSE true END
  ORDER BY g.level, (-g.unit), g.unit, g.tenant_id, g.project_id LIMIT ${marksPerStep}`;
