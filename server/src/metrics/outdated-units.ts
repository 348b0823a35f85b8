import { minuteMicros, hourMicros, dayMicros } from "../model/durations.ts";
import type { MetricCounts } from "./metric-body.ts";
import type { PeriodUnits, UnitCounts } from "./metric-summary.ts";
import type { MicrosRange, UnitLevel } from "./metrics.ts";
import { countRun, createCounts } from "./scanned-run.ts";
import type { ScannedRun } from "./scanned-run.ts";

// How a query combines stored metrics and runs. The rules are the same on both database engines.

/** The counts of a range, and the parts of it whose runs could not be read in time. */
export interface CollectedUnits {
  readonly units: readonly UnitCounts[];
  readonly missing: readonly MicrosRange[];
}

/** Returns the range of the same length that ends where a range begins. */
export const toPreviousRange = ({ fromMicros, toMicros }: MicrosRange): MicrosRange => ({
  fromMicros: fromMicros - (toMicros - fromMicros),
  toMicros: fromMicros,
});

/** Joins the counts of a range and of the period before. */
export const joinPeriods = (current: CollectedUnits, previous: CollectedUnits): PeriodUnits => ({
  current: current.units,
  previous: previous.units,
  missing: [...current.missing, ...previous.missing],
});

/** The numbers of the units that are out of date, by their level. */
export type OutdatedUnits = Readonly<Record<UnitLevel | "unreadHour", ReadonlySet<number>>>;

/** The numbers of the units that are marked, by their level. */
export type MarkedUnits = Readonly<Record<UnitLevel | "unreadHour", readonly number[]>>;

/** A unit is out of date if it is marked, or if a smaller unit in it is. */
export function findOutdated(marked: MarkedUnits): OutdatedUnits {
  const minute = new Set(marked.minute);
  const unreadHour = new Set(marked.unreadHour);
  const hour = new Set([
    ...marked.hour,
    ...unreadHour,
    ...toLarger(minute, hourMicros / minuteMicros),
  ]);
  const day = new Set([...marked.day, ...toLarger(hour, dayMicros / hourMicros)]);
  return { minute, hour, day, unreadHour };
}

const toLarger = (units: ReadonlySet<number>, count: number): readonly number[] =>
  [...units].map((unit) => Math.floor(unit / count));

/** Whether a minute is part of an hour whose runs must all be read. */
export const isUnread = ({ unreadHour }: OutdatedUnits, minute: number): boolean =>
  unreadHour.has(Math.floor((minute * minuteMicros) / hourMicros));

/** The ranges whose runs must be counted, because no stored counts of them are up to date. */
export const listOutdatedRanges = (
  outdated: OutdatedUnits,
  range: MicrosRange,
): readonly MicrosRange[] =>
  [
    ...[...outdated.minute]
      .filter((unit) => !isUnread(outdated, unit))
      .map((unit) => toRange(unit, minuteMicros)),
    ...[...outdated.unreadHour].map((unit) => toRange(unit, hourMicros)),
  ].map((outdatedRange) => clip(outdatedRange, range));

/** Adds runs to the counts of the minutes in which they start. */
export function countByMinute(
  countsByStart: Map<number, MetricCounts[]>,
  runs: readonly ScannedRun[],
): void {
  countByWidth(countsByStart, runs, minuteMicros);
}

/** Adds runs to the counts of the units of a width in which they start. */
export function countByWidth(
  countsByStart: Map<number, MetricCounts[]>,
  runs: readonly ScannedRun[],
  widthMicros: number,
): void {
  for (const run of runs) {
    const start = Math.floor(run.startMicros / widthMicros) * widthMicros;
    const counts = countsByStart.get(start) ?? createCounts();
    countsByStart.set(start, counts);
    countRun(counts, run);
  }
}

/** Returns the time range of a unit, such as an hour, by its number and its length in microseconds. */
export const toRange = (unit: number, micros: number): MicrosRange => ({
  fromMicros: unit * micros,
  toMicros: (unit + 1) * micros,
});

/** Returns the part of a time range that is within another. */
export const clip = (range: MicrosRange, { fromMicros, toMicros }: MicrosRange): MicrosRange => ({
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

/** Returns the level of the largest units that divide a point of a chart evenly. `widthMicros` is its width. */
export function selectLevel(widthMicros: number): UnitLevel {
  if (widthMicros % dayMicros === 0) {
    return "day";
  }
  return widthMicros % hourMicros === 0 ? "hour" : "minute";
}
