import type { CheckedFilter } from "../filter/checker.ts";
import type { RunFile, RunPart, StoredRun } from "./run-row.ts";
import type { UsageName } from "./usage/usage-sources.ts";

/**
 * Selects the runs that meet all conditions that are set. A condition with a list of ids is met if one of the ids
 * matches.
 */
export interface RunFilter {
  readonly projectIds?: readonly string[];
  readonly ids?: readonly string[];
  readonly traceId?: string;
  readonly parentRunId?: string;
  readonly runType?: string;
  readonly referenceExampleIds?: readonly string[];
  readonly isRoot?: boolean;
  readonly hasError?: boolean;
  /** The earliest start time, included. */
  readonly earliestStartMicros?: number;
  /** The latest start time, included. */
  readonly latestStartMicros?: number;
  /** Substring of the name or of the payload's JSON text. The case of ASCII letters is ignored. */
  readonly text?: string;
  /** Filters of the filter language that the run itself must match. */
  readonly runFilters?: readonly CheckedFilter[];
  /** Filter that the root run of the run's trace must match. */
  readonly rootFilter?: CheckedFilter;
  /** Filter that at least one run of the run's trace must match; that may be the run itself. */
  readonly treeFilter?: CheckedFilter;
}

/** Position of the last run of a page; the next page begins after it. */
export interface RunPosition {
  readonly startMicros: number;
  readonly id: string;
}

export interface RunQuery {
  readonly filter: RunFilter;
  readonly order: "asc" | "desc";
  readonly limit: number;
  /**
   * Maximum total bytes of the payloads of a page. Once this number is exceeded, no more runs are read, and the page
   * has fewer runs than `limit`.
   */
  readonly bytesMax?: number;
  readonly after?: RunPosition;
  /** Whether to list the ids of descendants, which takes one query per run. */
  readonly withChildren: boolean;
  /**
   * The parts to read of each run, in addition to its id and its start; all parts if absent. Parts that are not read
   * are empty: `""`, 0, `false`, `null` or an empty list.
   */
  readonly parts?: ReadonlySet<RunPart>;
}

export interface RunPage {
  readonly runs: readonly StoredRun[];
  /** Absent on the last page. */
  readonly nextPosition?: RunPosition;
}

/** Statistics of a quantity, such as latency, over the runs that report it. */
export interface Distribution {
  readonly count: number;
  readonly sum: number;
  /** `null` if no run reports the quantity. */
  readonly p50: number | null;
  readonly p99: number | null;
}

/** Statistics of runs. Durations are in microseconds. Usage numbers cover only runs of type `llm`. */
export interface RunStatistics extends Readonly<Record<UsageName, Distribution>> {
  readonly runCount: number;
  readonly errorCount: number;
  readonly lastStartMicros: number | null;
  /** Latency of the runs that have ended. */
  readonly latency: Distribution;
  /** Time from the start of a streaming run to its first token. */
  readonly firstToken: Distribution;
}

export interface ProjectStatisticsQuery {
  readonly projectId: string;
  /**
   * Whether each root run of the project is a result of an experiment. Then only root runs are counted, but usage,
   * first tokens and costs are still those of all runs.
   */
  readonly hasResults: boolean;
}

export interface RunReads {
  find(tenantId: string, id: string): StoredRun | undefined;
  query(tenantId: string, query: RunQuery): RunPage;
  readStatistics(tenantId: string, filter: RunFilter): RunStatistics;
  /** Reads the statistics of one project, in one pass over its runs. */
  readProjectStatistics(tenantId: string, query: ProjectStatisticsQuery): RunStatistics;
  /** Finds the run that a token shares. If the token shares a whole trace, that is the root run of the trace. */
  findShared(token: string): StoredRun | undefined;
  /** Finds the content of an attachment. The caller must have checked the signature of the URL. */
  findFile(
    tenantId: string,
    file: RunFile,
  ): { readonly mimeType: string; readonly bytes: Uint8Array } | undefined;
}

export interface RunWrites {
  /**
   * Returns the token with which anyone may read the run. Repeating the call returns the same token.
   *
   * @throws RequestError 404: no such run.
   */
  share(tenantId: string, id: string): string;
  unshare(tenantId: string, id: string): void;
  /**
   * Deletes runs and their descendants, in the given order. To keep other writes from waiting, a call deletes only a
   * limited number of runs; repeat it with the remaining ids. An id without a run counts as deleted.
   */
  deleteTrees(tenantId: string, ids: readonly string[]): TreeDeletion;
}

/** What a call of {@link RunWrites.deleteTrees} has deleted. */
export interface TreeDeletion {
  /** Number of deleted runs, including descendants. */
  readonly deleted: number;
  /** The given ids whose runs are not deleted yet. */
  readonly remainingIds: readonly string[];
}
