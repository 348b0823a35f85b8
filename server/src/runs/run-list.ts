import type { ValueKind } from "millrace/model";
import type { RunFilter, RunPosition } from "./run-query.ts";
import type { RunPart, StoredRun } from "./run-row.ts";

/** Microseconds of one interval in the table of run counts. */
export const countMicros = 10_000_000;

/** What a list of runs is sorted by. */
export type RunSort = "start" | "latency";

/** Position of a run in a list: the value of the sort column in microseconds, and the run's id. */
export type ListPosition = Pick<RunPosition, "id"> & { readonly micros: number };

/** A search of a single project, because the indexes that serve it in order begin with the project. */
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
  /** The parts that are read of each run, as in a `RunQuery`. */
  readonly parts?: ReadonlySet<RunPart>;
}

/** The runs that one search step found, as the type parameter defines, and the position that the step reached. */
export interface SearchSlice<Run> {
  readonly runs: readonly Run[];
  /** Where the next step continues; absent at the end of the list. */
  readonly next?: ListPosition;
}

/** Number of runs that began in an interval. */
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
  /** Width of each interval; a multiple of {@link countMicros}. */
  readonly widthMicros: number;
}

/** Query for filter suggestions: names, types, tags, metadata or feedback keys of a project's runs. */
export interface WordQuery {
  readonly projectId: string;
  readonly kind: ValueKind;
  /** For `metadata_value`: the metadata key whose values are listed. */
  readonly key?: string;
  readonly prefix: string;
  readonly limit: number;
}

/** Queries of the UI's run list that the public API does not have. The size of each result is bounded. */
export interface RunListReads {
  /** Scans a list from a position on, up to the scan limit. */
  search(tenantId: string, search: RunSearch): SearchSlice<StoredRun>;
  /** Start times of the first and the last run of a project; `undefined` if it has no runs. */
  readStartTimeRange(
    tenantId: string,
    projectId: string,
  ): { readonly fromMicros: number; readonly toMicros: number } | undefined;
  /** Intervals without runs are omitted. */
  counts(tenantId: string, query: CountQuery): readonly RunCount[];
  words(tenantId: string, query: WordQuery): readonly string[];
}
