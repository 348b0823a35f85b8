import type { UrlTimes } from "../../components/time/time-range.ts";
import {
  parseChoice,
  requireItems,
  requireText,
  toItems,
  toNumber,
  toRecord,
  toText,
} from "../../api/parse.ts";
import type { JsonMembers } from "../../api/parse.ts";
import { formatTime, parseTimeMs } from "../../components/time/time.ts";

export const percentiles = ["p50", "p95", "p99"] as const;
export type Percentile = (typeof percentiles)[number];

const countNames = ["runs", "errors", "tokens", "cost"] as const;
type CountName = (typeof countNames)[number];

/** The metrics of a set of runs. Durations are in milliseconds, and `undefined` if none was measured. */
export interface MetricValues extends Readonly<Record<CountName, number>> {
  readonly latency: Readonly<Record<Percentile, number | undefined>>;
  readonly firstToken: Readonly<Record<Percentile, number | undefined>>;
}

/** The counts of runs for each point of a chart: a list with one value per point. */
export type CountPoints = Readonly<Record<CountName, readonly number[]>>;

/** All metrics for each point of a chart: a list with one value per point, and `null` for a missing duration. */
export interface MetricPoints extends CountPoints {
  readonly latency: Readonly<Record<Percentile, readonly (number | null)[]>>;
  readonly firstToken: Readonly<Record<Percentile, readonly (number | null)[]>>;
}

/**
 * A group of runs: those with one value of the grouping property (`value`), those without the property (`none`), or
 * those with any of the remaining values (`other`).
 */
export interface MetricGroup {
  readonly kind: "value" | "none" | "other";
  readonly value: string;
  readonly total: MetricValues;
  readonly previous: MetricValues;
  readonly points: MetricPoints;
  readonly previousPoints: CountPoints;
}

export interface Metrics {
  /** The starts of the points, in milliseconds since the Unix epoch. */
  readonly starts: readonly number[];
  readonly widthMs: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly total: MetricValues;
  /** The metrics of the period before, which has the same length and ends at `fromMs`. */
  readonly previous: MetricValues;
  readonly points: MetricPoints;
  readonly previousPoints: MetricPoints;
  readonly groups: readonly MetricGroup[];
  /** Ranges whose runs are not counted. */
  readonly missing: readonly { readonly fromMs: number; readonly toMs: number }[];
}

/** @throws TypeError the response does not contain metrics. */
export function parseMetrics(value: unknown): Metrics {
  const response = toRecord(value);
  const fromMs = requireTime(response, "from");
  const toMs = requireTime(response, "to");
  const widthMs = toNumber(response["width_ms"]) ?? 0;
  if (widthMs <= 0) {
    throw new TypeError("The response contains no width of its points.");
  }
  const allRuns = toRecord(response["all"]);
  const count = Math.round((toMs - fromMs) / widthMs);
  return {
    starts: Array.from({ length: count }, (_, index) => fromMs + index * widthMs),
    widthMs,
    fromMs,
    toMs,
    total: parseValues(allRuns["total"]),
    previous: parseValues(allRuns["previous"]),
    points: parsePoints(allRuns["points"], count),
    previousPoints: parsePoints(allRuns["previous_points"], count),
    groups: requireItems(response["groups"], "groups").map((group) => parseGroup(group, count)),
    missing: toItems(response["missing"]).map((range) => {
      const members = toRecord(range);
      return { fromMs: requireTime(members, "from"), toMs: requireTime(members, "to") };
    }),
  };
}

function parseGroup(value: unknown, count: number): MetricGroup {
  const group = toRecord(value);
  return {
    kind: parseChoice(group["kind"], ["value", "none"] as const) ?? "other",
    value: toText(group["value"]) ?? "",
    total: parseValues(group["total"]),
    previous: parseValues(group["previous"]),
    points: parsePoints(group["points"], count),
    previousPoints: parseCounts(toRecord(group["previous_points"]), count),
  };
}

export function parseValues(value: unknown): MetricValues {
  const values = toRecord(value);
  const parsePercentiles = (name: string) =>
    createRecord(percentiles, (percentile) => toNumber(toRecord(values[name])[percentile]));
  return {
    ...createRecord(countNames, (name) => toNumber(values[name]) ?? 0),
    latency: parsePercentiles("latency_ms"),
    firstToken: parsePercentiles("first_token_ms"),
  };
}

function parsePoints(value: unknown, count: number): MetricPoints {
  const points = toRecord(value);
  const indexes = Array.from({ length: count }, (_, index) => index);
  const parsePercentiles = (name: string) =>
    createRecord(percentiles, (percentile) => {
      const list = toItems(toRecord(points[name])[percentile]);
      return indexes.map((index) => toNumber(list[index]) ?? null);
    });
  return {
    ...parseCounts(points, count),
    latency: parsePercentiles("latency_ms"),
    firstToken: parsePercentiles("first_token_ms"),
  };
}

const parseCounts = (points: JsonMembers, count: number): CountPoints =>
  createRecord(countNames, (name) => {
    const list = toItems(points[name]);
    return Array.from({ length: count }, (_, index) => toNumber(list[index]) ?? 0);
  });

const createRecord = <Name extends string, Value>(
  names: readonly Name[],
  create: (name: Name) => Value,
): Readonly<Record<Name, Value>> =>
  Object.fromEntries(names.map((name) => [name, create(name)])) as Readonly<Record<Name, Value>>;

function requireTime(members: JsonMembers, name: string): number {
  const timeMs = parseTimeMs(requireText(members, name));
  if (timeMs === undefined) {
    throw new TypeError(`The response contains no time "${name}".`);
  }
  return timeMs;
}

/** Returns the fraction of runs with an error; `undefined` if there are no runs. */
export const computeErrorRate = ({ runs, errors }: Pick<MetricValues, "runs" | "errors">) =>
  runs === 0 ? undefined : errors / runs;

/** Returns the mean cost of a run; `undefined` if no run has a cost. */
export const computeCostPerRun = ({ runs, cost }: Pick<MetricValues, "runs" | "cost">) =>
  runs === 0 || cost === 0 ? undefined : cost / runs;

/** The largest change, in percent, that is shown exactly. A larger change is shown as `> +9,999 %`. */
const maxPercent = 9_999;

/** Formats how much a number changed: `+12 %`, `−3 %`; `undefined` if there is nothing to compare with. */
export function formatChange(
  current: number | undefined,
  previous: number | undefined,
): string | undefined {
  if (current === undefined || previous === undefined || previous === 0) {
    return undefined;
  }
  const percent = Math.round(((current - previous) / previous) * 100);
  const signs = ["−", "±", "+"];
  return percent > maxPercent
    ? `> +${maxPercent.toLocaleString("en")} %`
    : `${signs[Math.sign(percent) + 1]}${Math.abs(percent).toLocaleString("en")} %`;
}

/**
 * Formats how much a percentage changed, in percentage points: `+1.2 points`. A relative change of an error rate could
 * be mistaken for the rate, and can't be computed if the previous period has no errors.
 */
export function formatShareChange(
  current: number | undefined,
  previous: number | undefined,
): string | undefined {
  if (current === undefined || previous === undefined) {
    return undefined;
  }
  const points = (current - previous) * 100;
  const digits = Math.abs(points) < 10 ? 1 : 0;
  const text = Math.abs(points).toFixed(digits);
  const sign = ["−", "±", "+"][Math.sign(Number(text) === 0 ? 0 : points) + 1];
  return `${sign}${text.replace(/\.0$/, "")} points`;
}

/** The maximum number of missing ranges that {@link describeMissing} lists. It gives only the number of the others. */
const maxNamedRanges = 3;

/**
 * Describes the time ranges that the metrics do not include; `undefined` if there are none. Without a filter, the
 * server counts these ranges in the background when no more runs arrive in them. With a filter, the server reads the
 * latest runs for a limited time, and never counts the earlier ones.
 */
export function describeMissing(
  missing: Metrics["missing"],
  hasFilter: boolean,
): string | undefined {
  if (missing.length === 0) {
    return undefined;
  }
  const ranges = missing
    .slice(0, maxNamedRanges)
    .map(({ fromMs, toMs }) => `${formatMinute(fromMs)} – ${formatMinute(toMs)}`)
    .join(", ");
  const unnamedCount = missing.length - maxNamedRanges;
  const namedRanges = unnamedCount > 0 ? `${ranges} and ${unnamedCount} more` : ranges;
  return hasFilter
    ? `Incomplete, because reading all runs would take too long. Not counted: ${namedRanges}`
    : `Counting the latest changes. The metrics do not include ${namedRanges} yet.`;
}

const formatMinute = (timeMs: number): string => formatTime(timeMs).slice(0, 16);

/**
 * Returns the time range with which a run list shows the runs that a metric counts. A run list includes the end of its
 * time range, but a metric does not count runs that start at `toMs`.
 */
export const toCountedTimes = (fromMs: number, toMs: number): Pick<UrlTimes, "from" | "to"> => ({
  from: new Date(fromMs).toISOString(),
  to: new Date(toMs - 1).toISOString(),
});
