import { minuteMicros, hourMicros, dayMicros } from "../../model/durations.ts";
import type { Sql } from "../../filter/sql.ts";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import type { MetricCounts } from "../metric-body.ts";
import type { UnitCounts } from "../metric-summary.ts";
import { dimensions, markLevels, unitMicros } from "../metrics.ts";
import type { Dimension, MicrosRange, UnitLevel } from "../metrics.ts";
import {
  clip,
  countByMinute,
  countByWidth,
  findOutdated,
  isUnread,
  joinRanges,
  listOutdatedRanges,
  toRange,
} from "../outdated-units.ts";
import type { CollectedUnits, MarkedUnits, OutdatedUnits } from "../outdated-units.ts";
import { toUnits } from "../scanned-run.ts";
import { PostgresMetricScanner } from "./metric-scanner.ts";
import type { ScanQuery } from "./metric-scanner.ts";

/** The dimensions whose values are in the payloads of runs. */
const payloadDimensions: ReadonlySet<Dimension> = new Set(["model", "tag", "user"]);

interface CollectQuery extends MicrosRange {
  readonly tenantId: string;
  readonly projectId: string;
  readonly dimensionIndexes: readonly number[];
}

/** Collects the counts of ranges: stored counts and, for units that are out of date, counts of the runs themselves. */
export class PostgresMetricUnits {
  readonly #db: PostgresDatabase;
  readonly #scanner: PostgresMetricScanner;

  constructor(db: PostgresDatabase) {
    this.#db = db;
    this.#scanner = new PostgresMetricScanner(db);
  }

  /**
   * Collects the counts of whole units. A unit that is out of date is replaced by the smaller units in it, and a minute
   * that is out of date by its runs. All statements must see the same state of the database.
   *
   * @param level - the largest units to use; the range must begin and end with one
   */
  async collect(
    query: CollectQuery,
    level: UnitLevel,
    deadlineMs: number,
  ): Promise<CollectedUnits> {
    const { stored, outdatedRanges } = await this.readStored(query, level);
    const { units, missing } = await this.#scanRanges(query, outdatedRanges, deadlineMs);
    return { units: [...stored, ...units], missing };
  }

  /**
   * Reads the stored counts of whole units that are up to date, and finds the ranges whose runs are not in them. All
   * statements must see the same state of the database.
   *
   * @param level - the largest units to use; the range must begin and end with one
   */
  async readStored(
    query: CollectQuery,
    level: UnitLevel,
  ): Promise<{
    readonly stored: readonly UnitCounts[];
    readonly outdatedRanges: readonly MicrosRange[];
  }> {
    const outdated = findOutdated(await this.#listMarks(query));
    const stored = await this.#collectStored(query, level, outdated);
    return { stored, outdatedRanges: listOutdatedRanges(outdated, query) };
  }

  /**
   * Counts the runs that meet a condition, the latest first.
   *
   * @param widthMicros - width of the units
   */
  async scanFiltered(
    query: CollectQuery & { readonly condition: Sql },
    widthMicros: number,
    deadlineMs: number,
  ): Promise<CollectedUnits> {
    const countsByStart = new Map<number, MetricCounts[]>();
    let missing: readonly MicrosRange[] = [];
    for await (const runs of this.#scanner.scan(toScanQuery(query, query))) {
      countByWidth(countsByStart, runs, widthMicros);
      const lastRun = runs.at(-1);
      if (lastRun !== undefined && performance.now() > deadlineMs) {
        missing = [{ fromMicros: query.fromMicros, toMicros: lastRun.startMicros }];
        break;
      }
    }
    return { units: toUnits(query.dimensionIndexes, countsByStart), missing };
  }

  /** Counts the runs of whole ranges, the latest first. A range that can't be read in time is missing as a whole. */
  async #scanRanges(
    query: CollectQuery,
    ranges: readonly MicrosRange[],
    deadlineMs: number,
  ): Promise<CollectedUnits> {
    const units: UnitCounts[] = [];
    const missing: MicrosRange[] = [];
    for (const range of ranges.toSorted((a, b) => b.fromMicros - a.fromMicros)) {
      const counts =
        performance.now() > deadlineMs ? undefined : await this.#count(query, range, deadlineMs);
      if (counts === undefined) {
        missing.push(range);
      } else {
        units.push(...toUnits(query.dimensionIndexes, counts));
      }
    }
    return { units, missing: joinRanges(missing) };
  }

  /** Counts the runs of a range by minute; `undefined` if that is not possible until the deadline. */
  async #count(
    query: CollectQuery,
    range: MicrosRange,
    deadlineMs: number,
  ): Promise<ReadonlyMap<number, readonly MetricCounts[]> | undefined> {
    const countsByStart = new Map<number, MetricCounts[]>();
    for await (const runs of this.#scanner.scan(toScanQuery(query, range))) {
      if (performance.now() > deadlineMs) {
        return undefined;
      }
      countByMinute(countsByStart, runs);
    }
    return countsByStart;
  }

  async #listMarks({
    tenantId,
    projectId,
    fromMicros,
    toMicros,
  }: CollectQuery): Promise<MarkedUnits> {
    const toBounds = (micros: number): readonly number[] => [
      Math.floor(fromMicros / micros),
      Math.ceil(toMicros / micros),
    ];
    const { rows } = await this.#db.query<{ readonly level: number; readonly unit: number }>(
      `SELECT DISTINCT level, unit FROM metric_marks WHERE tenant_id = $1 AND project_id = $2 AND (
         level = ${markLevels.minute} AND unit >= $3::bigint AND unit < $4::bigint
         OR level IN (${markLevels.hour}, ${markLevels.unreadHour}) AND unit >= $5::bigint AND unit < $6::bigint
         OR level = ${markLevels.day} AND unit >= $7::bigint AND unit < $8::bigint)`,
      [
        tenantId,
        projectId,
        ...toBounds(minuteMicros),
        ...toBounds(hourMicros),
        ...toBounds(dayMicros),
      ],
    );
    const listUnits = (level: keyof MarkedUnits): readonly number[] =>
      rows.filter((row) => row.level === markLevels[level]).map(({ unit }) => unit);
    return {
      minute: listUnits("minute"),
      hour: listUnits("hour"),
      day: listUnits("day"),
      unreadHour: listUnits("unreadHour"),
    };
  }

  async #collectStored(
    query: CollectQuery,
    level: UnitLevel,
    outdated: OutdatedUnits,
  ): Promise<readonly UnitCounts[]> {
    const units: UnitCounts[] = [];
    let currentLevel = level;
    let ranges: readonly MicrosRange[] = [query];
    while (ranges.length > 0) {
      const isOutdated = (unit: number): boolean =>
        outdated[currentLevel].has(unit) || (currentLevel === "minute" && isUnread(outdated, unit));
      const stored = await this.#list(query, currentLevel, ranges);
      units.push(...stored.filter(({ unit }) => !isOutdated(unit)).map(({ counts }) => counts));
      if (currentLevel === "minute") {
        break;
      }
      // Units that are out of date are replaced by the smaller units in them, except unread hours, whose minutes are
      // all out of date.
      const micros = unitMicros[currentLevel];
      const { unreadHour } = outdated;
      const isHour = currentLevel === "hour";
      ranges = [...outdated[currentLevel]]
        .filter((unit) => !(isHour && unreadHour.has(unit)))
        .map((unit) => clip(toRange(unit, micros), query));
      currentLevel = isHour ? "minute" : "hour";
    }
    return units;
  }

  /** Reads the stored counts of the units of ranges. */
  async #list(
    { tenantId, projectId, dimensionIndexes }: CollectQuery,
    level: UnitLevel,
    ranges: readonly MicrosRange[],
  ): Promise<readonly { readonly unit: number; readonly counts: UnitCounts }[]> {
    const micros = unitMicros[level];
    const { rows } = await this.#db.query<StoredUnit>(
      `SELECT m.dimension, m.unit, m.body FROM unnest($3::bigint[], $4::bigint[]) i (first, next)
       CROSS JOIN unnest($5::smallint[]) d (dimension)
       JOIN metrics m ON m.tenant_id = $1 AND m.project_id = $2 AND m.level = $6::smallint AND m.dimension = d.dimension
         AND m.unit >= i.first AND m.unit < i.next`,
      [
        tenantId,
        projectId,
        ranges.map(({ fromMicros }) => Math.floor(fromMicros / micros)),
        ranges.map(({ toMicros }) => Math.ceil(toMicros / micros)),
        dimensionIndexes,
        markLevels[level],
      ],
    );
    return rows.map(({ dimension, unit, body }) => ({
      unit,
      counts: { startMicros: unit * micros, dimensionIndex: dimension, body },
    }));
  }
}

interface StoredUnit {
  readonly dimension: number;
  readonly unit: number;
  readonly body: Uint8Array;
}

const toScanQuery = (
  { dimensionIndexes, ...query }: CollectQuery & Pick<ScanQuery, "condition">,
  range: MicrosRange,
): ScanQuery => ({
  ...query,
  ...range,
  withPayloads: dimensionIndexes.some((index) => {
    const dimension = dimensions[index];
    return dimension !== undefined && payloadDimensions.has(dimension);
  }),
});
