import type { Conditions } from "../../runs/sqlite/run-conditions.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import { MetricCounts } from "../metric-body.ts";
import { dimensions, hourMicros, markLevels, minuteMicros } from "../metrics.ts";
import type { MicrosRange } from "../metrics.ts";
import { countRun, MetricScanner } from "./metric-scanner.ts";
import type { ScannedRun } from "./metric-scanner.ts";

import type { UnitCounts } from "../metric-summary.ts";

/** The counts of a range, and the parts of it whose runs could not be read in time. */
export interface CollectedUnits {
  readonly units: readonly UnitCounts[];
  readonly missing: readonly MicrosRange[];
}

interface CollectQuery extends MicrosRange {
  readonly projectId: string;
  /** Indexes of the dimensions. */
  readonly dimensionIndexes: readonly number[];
}

const minutesPerHour = hourMicros / minuteMicros;

/** Collects the counts of ranges: stored ones, and for units that are out of date, those of the runs themselves. */
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
   * Collects the counts of whole minutes or whole hours.
   *
   * @param level - minutes can be read of any range; hours of a range that begins and ends at a full hour
   */
  collect(query: CollectQuery, level: "minute" | "hour", deadlineMs: number): CollectedUnits {
    const { unreadHours, minutes } = this.#listOutdated(query);
    const hoursWithMinutes = new Set(minutes.map((unit) => Math.floor(unit / minutesPerHour)));
    const outdatedHours = new Set([
      ...unreadHours,
      ...hoursWithMinutes,
      ...this.#listMarks(query, "hour"),
    ]);
    const isUnread = (unit: number): boolean =>
      unreadHours.has(Math.floor((unit * minuteMicros) / hourMicros));
    const outdatedMinutes = new Set(minutes);
    const readMinutes = (range: MicrosRange): readonly UnitCounts[] =>
      this.#list(
        { ...query, ...range },
        "minute",
        (unit) => outdatedMinutes.has(unit) || isUnread(unit),
      );
    const stored =
      level === "minute"
        ? readMinutes(query)
        : [
            ...this.#list(query, "hour", (unit) => outdatedHours.has(unit)),
            ...[...outdatedHours]
              .filter((unit) => !unreadHours.has(unit))
              .flatMap((unit) =>
                readMinutes({ fromMicros: unit * hourMicros, toMicros: (unit + 1) * hourMicros }),
              ),
          ];
    const outdatedRanges = [
      ...minutes.filter((unit) => !isUnread(unit)).map((unit) => toRange(unit, minuteMicros)),
      ...[...unreadHours].map((unit) => toRange(unit, hourMicros)),
    ].map((range) => clip(range, query));
    const { units, missing } = this.#scanRanges(query, outdatedRanges, deadlineMs);
    return { units: [...stored, ...units], missing };
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
      for (const run of runs) {
        const start = Math.floor(run.startMicros / widthMicros) * widthMicros;
        const counts = countsByStart.get(start) ?? createCounts();
        countsByStart.set(start, counts);
        countRun(counts, run);
      }
      const last = runs.at(-1);
      if (last !== undefined && performance.now() > deadlineMs) {
        missing = [{ fromMicros: query.fromMicros, toMicros: last.startMicros }];
        break;
      }
    }
    return { units: toUnits(query, countsByStart), missing };
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
        units.push(...toUnits(query, counts));
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

  #listOutdated(query: CollectQuery): {
    readonly unreadHours: ReadonlySet<number>;
    readonly minutes: readonly number[];
  } {
    return {
      unreadHours: new Set(this.#listMarks(query, "unreadHour")),
      minutes: this.#listMarks(query, "minute"),
    };
  }

  #listMarks(
    { projectId, fromMicros, toMicros }: CollectQuery,
    level: keyof typeof markLevels,
  ): readonly number[] {
    const unitMicros = level === "minute" ? minuteMicros : hourMicros;
    return parseRows(
      this.#statements.listMarks.all([
        projectId,
        markLevels[level],
        Math.floor(fromMicros / unitMicros),
        Math.ceil(toMicros / unitMicros),
      ]),
    ).map(([unit]) => Number(unit));
  }

  #list(
    { projectId, dimensionIndexes, fromMicros, toMicros }: CollectQuery,
    level: "minute" | "hour",
    isOutdated: (unit: number) => boolean,
  ): readonly UnitCounts[] {
    const unitMicros = level === "minute" ? minuteMicros : hourMicros;
    return dimensionIndexes.flatMap((dimensionIndex) =>
      parseRows(
        this.#statements.list.all([
          projectId,
          markLevels[level],
          dimensionIndex,
          Math.floor(fromMicros / unitMicros),
          Math.ceil(toMicros / unitMicros),
        ]),
      ).flatMap(([unit, body]) =>
        body instanceof Uint8Array && !isOutdated(Number(unit))
          ? [{ startMicros: Number(unit) * unitMicros, dimensionIndex, body }]
          : [],
      ),
    );
  }
}

const toUnits = (
  { dimensionIndexes }: CollectQuery,
  countsByStart: ReadonlyMap<number, readonly MetricCounts[]>,
): readonly UnitCounts[] =>
  [...countsByStart].flatMap(([startMicros, counts]) =>
    dimensionIndexes.flatMap((dimensionIndex) => {
      const body = counts[dimensionIndex]?.encode();
      return body === undefined ? [] : [{ startMicros, dimensionIndex, body }];
    }),
  );

export const createCounts = (): MetricCounts[] => dimensions.map(() => new MetricCounts());

/** Adds runs to the counts of the minutes in which they start. */
export function countByMinute(
  countsByStart: Map<number, MetricCounts[]>,
  runs: readonly ScannedRun[],
): void {
  for (const run of runs) {
    const start = Math.floor(run.startMicros / minuteMicros) * minuteMicros;
    const counts = countsByStart.get(start) ?? createCounts();
    countsByStart.set(start, counts);
    countRun(counts, run);
  }
}

const toRange = (unit: number, unitMicros: number): MicrosRange => ({
  fromMicros: unit * unitMicros,
  toMicros: (unit + 1) * unitMicros,
});

const clip = (range: MicrosRange, { fromMicros, toMicros }: MicrosRange): MicrosRange => ({
  fromMicros: Math.max(range.fromMicros, fromMicros),
  toMicros: Math.min(range.toMicros, toMicros),
});

/** Joins ranges that touch each other. They must be sorted, the latest first. */
export function joinRanges(ranges: readonly MicrosRange[]): readonly MicrosRange[] {
  const joined: MicrosRange[] = [];
  for (const range of ranges) {
    const later = joined.at(-1);
    if (later !== undefined && later.fromMicros <= range.toMicros) {
      joined[joined.length - 1] = {
        ...later,
        fromMicros: Math.min(later.fromMicros, range.fromMicros),
      };
    } else {
      joined.push(range);
    }
  }
  return joined;
}
