/**
 * The fields of runs that the trace page shows, as columns: a run has the same index in each column. `null` means that
 * the run does not have the value. Times are in microseconds since the Unix epoch.
 */
export interface TraceColumns {
  readonly ids: readonly string[];
  readonly parentIds: readonly (string | null)[];
  readonly names: readonly string[];
  readonly runTypes: readonly string[];
  readonly starts: readonly number[];
  readonly ends: readonly (number | null)[];
  /** 1 for a run that failed, else 0. */
  readonly errors: readonly number[];
  readonly tokens: readonly (number | null)[];
  readonly costs: readonly (number | null)[];
  readonly promptCosts: readonly (number | null)[];
  readonly completionCosts: readonly (number | null)[];
  readonly firstTokens: readonly (number | null)[];
  /** The models from whose prices the costs were computed, or whose prices are unknown. */
  readonly models: readonly (string | null)[];
}

/**
 * Selects runs of a trace: all runs after an id, or only the runs that changed since the `mark` of an earlier page.
 */
export interface TraceQuery {
  readonly traceId: string;
  readonly limit: number;
  readonly afterId?: string;
  readonly since?: number;
}

/** A page of a trace's runs, in the order of their ids. */
export interface TracePage {
  readonly columns: TraceColumns;
  /** The id after which the next page begins; absent on the last page. */
  readonly next?: string;
  /**
   * With this number as `since`, a later query returns all changes after this page. A change may be returned twice,
   * but none is missed.
   */
  readonly mark: number;
}

/** What the runs of a trace used, summed over its model calls, and its first token. */
export interface TraceUsage {
  /** `null` if no model call reports the number; the same holds for the cost. */
  readonly tokens: number | null;
  readonly cost: number | null;
  /** The names of the models whose calls have usage, in the order of their first calls. Further names are left out. */
  readonly models: readonly string[];
  /** The earliest first token of any run. */
  readonly firstTokenMicros: number | null;
  /** Whether the trace has more runs than were read, so that the sums are lower bounds. */
  readonly isPartial: boolean;
}

export interface TraceReads {
  readPage(tenantId: string, query: TraceQuery): TracePage;
  /** Reads the usage of traces, each over a limited number of its runs. Traces without usage have no entry. */
  readUsage(tenantId: string, traceIds: readonly string[]): ReadonlyMap<string, TraceUsage>;
}
