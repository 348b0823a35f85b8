import type { ValueKind } from "millrace/model";
import type { RunFilter, RunPosition } from "./run-query.ts";
import type { RunPart, StoredRun } from "./run-row.ts";

/** Microseconds of one interval in the table of run counts. */
export const countIntervalMicros = 10_000_000;

export type RunSort = "start" | "latency";

/** Position of a run in a list: the value of the sort column in microseconds, and the run's id. */
export type ListPosition = Pick<RunPosition, "id"> & { readonly micros: number };

/**
 * A search in a single project. The indexes begin with the project, so only the runs of a single project can be read in
 * order without sorting them.
 */
export interface RunSearch {
  readonly projectId: string;
  readonly filter: Omit<RunFilter, "projectIds">;
  readonly sort: RunSort;
  readonly order: "asc" | "desc";
  /** Maximum number of runs to return. */
  readonly limit: number;
  readonly after?: ListPosition;
  /** Maximum number of runs to scan, whether they match the filter or not. */
  readonly scanLimit: number;
  /** The parts to read of each run; see `RunQuery.parts`. */
  readonly parts?: ReadonlySet<RunPart>;
}

/** The runs that one search step found, and the position that it reached. `Run` is the type of each found run. */
export interface SearchSlice<Run> {
  readonly runs: readonly Run[];
  /** Where the next step continues; absent at the end of the list. */
  readonly nextPosition?: ListPosition;
}

/** Numbers of runs that began in an interval. */
export interface RunCount {
  readonly startMicros: number;
  readonly runs: number;
  readonly errors: number;
}

export interface CountQuery {
  readonly projectId: string;
  readonly isRoot: boolean | undefined;
  readonly fromMicros: number;
  readonly toMicros: number;
  /** Width of each interval; a multiple of {@link countIntervalMicros}. */
  readonly widthMicros: number;
}

/** Counts that are stored for units of time, so that no run has to be read. */
export interface StoredCounts {
  /** The counts of each unit; `startMicros` is the start of the unit. */
  readonly counts: readonly RunCount[];
  /** The ranges of start times whose runs are not in the counts. */
  readonly uncounted: readonly { readonly fromMicros: number; readonly toMicros: number }[];
}

/** Counts of the runs that one search step found, and the position that it reached. */
export interface CountSlice {
  readonly counts: readonly RunCount[];
  /** Where the next step continues; absent at the end of the list. */
  readonly nextPosition?: ListPosition;
}

/**
 * The properties of runs whose values are counted for the sidebar of a list. A list of traces has `trace_model`, the
 * models of all runs of a trace, in place of `model`.
 */
export const facetNames = [
  "status",
  "run_type",
  "name",
  "model",
  "trace_model",
  "tag",
  "user",
  "version",
] as const;

export type FacetName = (typeof facetNames)[number];

/** Values of runs and how many of the found runs have them, by property. */
export type FacetCounts = Readonly<Record<FacetName, ReadonlyMap<string, number>>>;

/** The values of the runs that one search step found, and the position that it reached. */
export interface FacetSlice {
  readonly counts: FacetCounts;
  /** Number of runs that were found. */
  readonly runCount: number;
  /** Where the next step continues; absent at the end of the list. */
  readonly nextPosition?: ListPosition;
}

/** A query for filter suggestions: names, types, tags, metadata or feedback keys of a project's runs. */
export interface SuggestionQuery {
  readonly projectId: string;
  readonly kind: ValueKind;
  /** For `metadata_value`: the metadata key whose values are listed. */
  readonly key?: string;
  readonly prefix: string;
  readonly limit: number;
}

/** Queries for the UI's run list that the public API does not have. The size of each result is limited. */
export interface RunListReads {
  /** Scans a list, beginning at a position, until the page is full or the scan limit is reached. */
  search(tenantId: string, search: RunSearch): SearchSlice<StoredRun>;
  /** Start times of the first and the last run of a project; `undefined` if it has no runs. */
  readStartTimeRange(
    tenantId: string,
    projectId: string,
  ): { readonly fromMicros: number; readonly toMicros: number } | undefined;
  /** Counts runs by intervals of their start times. Intervals without runs are omitted. */
  countRuns(tenantId: string, query: CountQuery): readonly RunCount[];
  /** Like {@link RunListReads.search}, but counts the found runs by intervals of their start times. */
  countMatches(tenantId: string, search: RunSearch, widthMicros: number): CountSlice;
  /** Like {@link RunListReads.search}, but counts the values of the found runs. */
  countFacets(tenantId: string, search: RunSearch): FacetSlice;
  /** Lists suggestions for a filter, sorted and distinct. */
  listSuggestions(tenantId: string, query: SuggestionQuery): readonly string[];
}
