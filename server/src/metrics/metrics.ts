import { minuteMicros, hourMicros, dayMicros } from "../model/durations.ts";
import type { RunFilter } from "../runs/run-query.ts";

/**
 * The properties of runs by which metrics are grouped. The database contains the index of each dimension, so new ones
 * must be appended.
 */
export const dimensions = ["status", "name", "model", "tag", "user"] as const;

export type Dimension = (typeof dimensions)[number];

/** Which runs are counted: the roots of traces, the model calls, or all runs. */
export const scopes = ["traces", "models", "all"] as const;

export type Scope = (typeof scopes)[number];

/**
 * Runs are counted in four disjoint classes, of which each scope combines some: a run can be the root of its trace (1),
 * call a model (2), both (3) or neither (0).
 */
export const classesByScope: { readonly [Name in Scope]: readonly number[] } = {
  traces: [1, 3],
  models: [2, 3],
  all: [0, 1, 2, 3],
};

/** A range of start times: from the first one, up to but not including the second one. */
export interface MicrosRange {
  readonly fromMicros: number;
  readonly toMicros: number;
}

/** Selects the runs whose metrics are computed, and how they are grouped. */
export interface MetricQuery extends MicrosRange {
  readonly projectId: string;
  readonly scope: Scope;
  /** `undefined`: the runs are not grouped. */
  readonly groupBy: Dimension | undefined;
  /** The only value of the dimension that becomes a group. @defaultValue those with the most runs */
  readonly value?: string;
  /** Width of one point. The range begins and ends at a multiple of it. */
  readonly widthMicros: number;
  /** With a filter, the runs themselves are read. */
  readonly filter?: Omit<RunFilter, "projectIds">;
  /**
   * Time limit, in milliseconds, for reading runs: those that the stored metrics do not include yet or, with a filter,
   * those that match it.
   */
  readonly withinMs: number;
}

/** The numbers of a group of runs that can be added up. */
export interface CountValues {
  readonly runs: number;
  readonly errors: number;
  readonly tokens: number;
  /** In US dollars. */
  readonly cost: number;
}

/** The counts of a group of runs, and the percentiles of their durations in microseconds. */
export interface MetricValues extends CountValues {
  readonly latency: Percentiles;
  readonly firstToken: Percentiles;
}

/** The percentiles of a duration; `null` if no run has this duration. */
export interface Percentiles {
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

/** The runs with one value of the dimension, those without one, or those whose values have few runs. */
export interface MetricGroup {
  readonly kind: "value" | "none" | "other";
  /** Empty unless the group has a value. */
  readonly value: string;
  readonly total: MetricValues;
  /** The total of the period before. */
  readonly previous: MetricValues;
  /** The values of each time interval of a chart, the oldest first. */
  readonly points: readonly MetricValues[];
  /**
   * The counts of each interval of the period before. Their sum over all groups is more than the number of runs if a
   * run can be in several groups.
   */
  readonly previousPoints: readonly CountValues[];
}

/** The metrics of the selected runs: of all of them, and of each group. */
export interface Metrics {
  /** All runs, each counted once. */
  readonly all: Omit<MetricGroup, "kind" | "value" | "previousPoints"> & {
    readonly previousPoints: readonly MetricValues[];
  };
  /** The groups with the most runs, and at the end those without a value and all others. */
  readonly groups: readonly MetricGroup[];
  /** Ranges whose runs could not be read in time, so that they are missing in both periods. */
  readonly missing: readonly MicrosRange[];
}

/** A query for the metrics of all projects of a tenant. Experiments are not counted. */
export interface OverviewQuery extends MicrosRange {
  readonly scope: Scope;
  /** Width of one point. The range begins and ends at a multiple of it. */
  readonly widthMicros: number;
  /** Time limit, in milliseconds, for reading the runs that the stored metrics do not include yet. */
  readonly withinMs: number;
  /** Milliseconds after which no more projects are read. */
  readonly maxMs: number;
  /** Maximum number of projects that are read. */
  readonly maxProjects: number;
  /** Whether the totals include the projects in which the server and the SDK record their own model calls. */
  readonly countsOwnProjects: boolean;
}

/** The metrics of one project in an overview. For the period before, only the runs are counted. */
export interface ProjectMetrics {
  readonly projectId: string;
  /** Whether the runs are included in the totals. */
  readonly isCounted: boolean;
  readonly total: MetricValues;
  /** The number of runs at each point of the range, and of the period before. */
  readonly runs: readonly number[];
  readonly previousRuns: readonly number[];
}

/** The metrics of the projects of a tenant. */
export interface OverviewMetrics extends Pick<Metrics, "all" | "missing"> {
  /** The projects with runs in the range or in the period before. */
  readonly projects: readonly ProjectMetrics[];
  /** Whether projects were left out: too many have runs, or reading them took too long. */
  readonly isPartial: boolean;
}

export interface MetricReads {
  read(tenantId: string, query: MetricQuery): Metrics;
  readOverview(tenantId: string, query: OverviewQuery): OverviewMetrics;
}

/** The stored metrics of one unit of time, such as an hour. */
export interface MetricBodies {
  /** The number of the unit: its start divided by its length. */
  readonly unit: number;
  /** The encoded counts of each dimension, in the order of {@link dimensions}. */
  readonly bodies: readonly Uint8Array[];
}

/** Levels of marks: which stored metrics are out of date, and how they are computed again. */
export const markLevels = {
  /** A minute, whose runs must be read. */
  minute: 0,
  /** An hour, whose minutes must be merged. */
  hour: 1,
  /** A day, whose hours must be merged. */
  day: 2,
  /** An hour whose minutes are all out of date or were never counted. Its runs must be read. */
  unreadHour: 3,
} as const;

/** The levels of stored metrics, and the width of their units. */
export const unitMicros = { minute: minuteMicros, hour: hourMicros, day: dayMicros } as const;

export type UnitLevel = keyof typeof unitMicros;

export type MarkLevel = (typeof markLevels)[keyof typeof markLevels];

/** A unit of time whose stored metrics are out of date. */
export interface Mark {
  readonly projectId: string;
  readonly level: MarkLevel;
  /** The number of the unit: its start divided by its length. */
  readonly unit: number;
  /** Changes whenever the unit is marked again. */
  readonly version: number;
}

/** Metrics that were computed for a mark. */
export interface ComputedMetrics {
  readonly mark: Mark;
  /** The metrics of the minutes of the unit, if its runs were read. */
  readonly minutes: readonly MetricBodies[];
  /** The metrics of the hour or day itself; `undefined` if it has no runs, and for a minute. */
  readonly merged: MetricBodies | undefined;
}

/** The writes of the thread that computes metrics. No request calls them. */
export interface MetricWrites {
  store(computed: readonly ComputedMetrics[]): void;
}
