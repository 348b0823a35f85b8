import { hourMicros } from "../../model/durations.ts";
import type { Conditions } from "../../runs/sqlite/run-conditions.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import type { MetricCounts } from "../metric-body.ts";
import type { UnitCounts } from "../metric-summary.ts";
import { markLevels, unitMicros } from "../metrics.ts";
import type { MicrosRange, UnitLevel } from "../metrics.ts";
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
import type { CollectedUnits, OutdatedUnits } from "../outdated-units.ts";
import { toUnits } from "../scanned-run.ts";
import { MetricScanner } from "./metric-scanner.ts";

interface CollectQuery extends MicrosRange {
  readonly projectId: string;
  readonly dimensionIndexes: readonly number[];
}

/** Collects the counts of ranges: stored counts and, for units that are out of date, counts of the runs themselves. */
export class MetricUnits {
  readonly #scanner: MetricScanner;
  readonly #statements;

  constructor(db: Connection) {
    this.#scanner = new MetricScanner(db);
    this.#statements = {
      list: db
        .prepare(
          "SELECT unit, body FROM metrics WHERE project_id = ? AND level = ? AND dimension = ? AND unit >= ? AND unit < ?",
        )
        .raw(),
      listMarks: db
        .prepare(
          "SELECT unit FROM metric_marks WHERE project_id = ? AND level = ? AND unit >= ? AND unit < ?",
        )
        .raw(),
    };
  }

  /**
   * Collects the counts of whole units. A unit that is out of date is replaced by the smaller units in it, and a minute
   * that is out of date by its runs.
   *
   * @param level - the largest units to use; the range must begin and end with one
   */
  collect(query: CollectQuery, level: UnitLevel, deadlineMs: number): CollectedUnits {
    const outdated = this.#findOutdated(query);
    const stored = this.#collectStored(query, level, outdated);
    const { units, missing } = this.#scanRanges(
      query,
      listOutdatedRanges(outdated, query),
      deadlineMs,
    );
    return { units: [...stored, ...units], missing };
  }

  #collectStored(
    query: CollectQuery,
    level: UnitLevel,
    outdated: OutdatedUnits,
  ): readonly UnitCounts[] {
    if (level === "minute") {
      return this.#list(
        query,
        level,
        (unit) => outdated.minute.has(unit) || isUnread(outdated, unit),
      );
    }
    const smallerLevel = level === "day" ? "hour" : "minute";
    return [
      ...this.#list(query, level, (unit) => outdated[level].has(unit)),
      ...[...outdated[level]].flatMap((unit) =>
        this.#collectStored(
          { ...query, ...clip(toRange(unit, unitMicros[level]), query) },
          smallerLevel,
          outdated,
        ),
      ),
    ];
  }

  /**
   * Counts the runs that meet conditions, the latest first.
   *
   * @param widthMicros - width of the units
   */
  scanFiltered(
    query: CollectQuery & { readonly conditions: Conditions },
    widthMicros: number,
    deadlineMs: number,
  ): CollectedUnits {
    const countsByStart = new Map<number, MetricCounts[]>();
    let missing: readonly MicrosRange[] = [];
    for (const runs of this.#scanner.scan(query)) {
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
  #scanRanges(
    query: CollectQuery,
    ranges: readonly MicrosRange[],
    deadlineMs: number,
  ): CollectedUnits {
    const units: UnitCounts[] = [];
    const missing: MicrosRange[] = [];
    for (const range of ranges.toSorted((a, b) => b.fromMicros - a.fromMicros)) {
      const counts =
        performance.now() > deadlineMs
          ? undefined
          : this.#count({ projectId: query.projectId, ...range }, deadlineMs);
      if (counts === undefined) {
        missing.push(range);
      } else {
        units.push(...toUnits(query.dimensionIndexes, counts));
      }
    }
    return { units, missing: joinRanges(missing) };
  }

  /** Counts the runs of a range by minute; `undefined` if that is not possible until the deadline. */
  #count(
    query: MicrosRange & { readonly projectId: string },
    deadlineMs: number,
  ): ReadonlyMap<number, readonly MetricCounts[]> | undefined {
    const countsByStart = new Map<number, MetricCounts[]>();
    for (const runs of this.#scanner.scan(query)) {
      if (performance.now() > deadlineMs) {
        return undefined;
      }
      countByMinute(countsByStart, runs);
    }
    return countsByStart;
  }

  #findOutdated(query: CollectQuery): OutdatedUnits {
    return findOutdated({
      minute: this.#listMarks(query, "minute"),
      hour: this.#listMarks(query, "hour"),
      day: this.#listMarks(query, "day"),
      unreadHour: this.#listMarks(query, "unreadHour"),
    });
  }

  #listMarks(
    { projectId, fromMicros, toMicros }: CollectQuery,
    level: keyof typeof markLevels,
  ): readonly number[] {
    const micros = level === "unreadHour" ? hourMicros : unitMicros[level];
    return parseRows(
      this.#statements.listMarks.all([
        projectId,
        markLevels[level],
        Math.floor(fromMicros / micros),
        Math.ceil(toMicros / micros),
      ]),
    ).map(([unit]) => Number(unit));
  }

  #list(
    { projectId, dimensionIndexes, fromMicros, toMicros }: CollectQuery,
    level: UnitLevel,
    isOutdated: (unit: number) => boolean,
  ): readonly UnitCounts[] {
    const micros = unitMicros[level];
    return dimensionIndexes.flatMap((dimensionIndex) =>
      parseRows(
        this.#statements.list.all([
          projectId,
          markLevels[level],
          dimensionIndex,
          Math.floor(fromMicros / micros),
          Math.ceil(toMicros / micros),
        ]),
      ).flatMap(([unit, body]) =>
        body instanceof Uint8Array && !isOutdated(Number(unit))
          ? [{ startMicros: Number(unit) * micros, dimensionIndex, body }]
          : [],
      ),
    );
  }
}
