import type { WordKind } from "millrace/model";
import type { RunFilter, RunPosition } from "./run-query.ts";
import type { StoredRun } from "./run-row.ts";

/** Microseconds of runs that are counted together. */
export const countMicros = 10_000_000;

/** What a list of runs is in the order of. */
export type RunSort = "start" | "latency";

/** The place of a run in a list: what the list is sorted by, in microseconds, and its id. */
export type ListPosition = Pick<RunPosition, "id"> & { readonly micros: number };

/** Where a list is to be gone through: one project, so that an index leads through it. */
export interface RunSearch {
  readonly projectId: string;
  readonly filter: Omit<RunFilter, "projectIds">;
  readonly sort: RunSort;
  readonly order: "asc" | "desc";
  /** Runs wanted. */
  readonly limit: number;
  readonly after?: ListPosition;
  /** Runs to look at, at most, whether they meet the filter or not. */
  readonly steps: number;
}

/** What was found on the way, and how far it went. */
export interface RunStretch {
  readonly runs: readonly StoredRun[];
  /** Present unless nothing is left to look at. */
  readonly next?: ListPosition;
}

/** How many runs began in a stretch of time. */
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
  /** Width of each count; a multiple of {@link countMicros}. */
  readonly widthMicros: number;
}

export interface WordQuery {
  readonly projectId: string;
  readonly kind: WordKind;
  /** Of `metadata_value`: whose value. */
  readonly key?: string;
  readonly prefix: string;
  readonly limit: number;
}

/** What the page's list of runs asks beyond the platform's queries. Each answer is bounded. */
export interface RunListReads {
  /** Goes through a list from a place on, so far and no further. */
  search(tenantId: string, search: RunSearch): RunStretch;
  /** When the first and the last run of a project began; `undefined` where it has none. */
  span(
    tenantId: string,
    projectId: string,
  ): { readonly fromMicros: number; readonly toMicros: number } | undefined;
  /** Stretches without runs are left out. */
  counts(tenantId: string, query: CountQuery): readonly RunCount[];
  words(tenantId: string, query: WordQuery): readonly string[];
}
