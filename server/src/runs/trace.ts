/** What of a run shows where it stands in its trace, and how it went. Times are microseconds. */
export interface TraceRun {
  readonly id: string;
  readonly parentRunId: string | null;
  readonly name: string;
  readonly runType: string;
  readonly startMicros: number;
  readonly endMicros: number | null;
  readonly hasError: boolean;
  readonly totalTokens: number | null;
  readonly totalCost: number | null;
  readonly firstTokenMicros: number | null;
}

/** Which runs of a trace: all behind an id, or those of them that changed since a mark. */
export interface TraceQuery {
  readonly traceId: string;
  readonly limit: number;
  readonly afterId?: string;
  readonly since?: number;
}

/** A page of a trace, in the order of the ids. */
export interface TracePage {
  readonly runs: readonly TraceRun[];
  /** Present when more follow: the id behind which they stand. */
  readonly next?: string;
  /** What changes after this page is found with it; changes may be found twice, none is left out. */
  readonly mark: number;
}

export interface TraceReads {
  page(tenantId: string, query: TraceQuery): TracePage;
}
