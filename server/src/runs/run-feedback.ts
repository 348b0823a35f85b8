import type { RunFilter } from "./run-query.ts";

/** A judgement of a run or a project. A field is `null` if it was not submitted. */
export interface Judgement {
  readonly score: number | boolean | null;
  /** Any JSON value. */
  readonly value: unknown;
  readonly comment: string | null;
  readonly correction: JsonObject | string | null;
  /** Configuration of the feedback key: what its scores mean. */
  readonly config: JsonObject | null;
}

export interface FeedbackDraft extends Judgement {
  readonly id: string;
  /** `null` for feedback on a project. */
  readonly runId: string | null;
  /** The judged project. For feedback on a run, the run's project if the client has named it. */
  readonly projectId: string | null;
  readonly comparativeId: string | null;
  readonly key: string;
  readonly sourceType: string;
  readonly sourceMetadata: JsonObject | null;
  readonly extra: JsonObject | null;
  /** `null`: the feedback gets the time at which it is stored. */
  readonly createdMicros: number | null;
}

/** Statistics by feedback key. */
export type FeedbackStats = Readonly<Record<string, KeyStats>>;

export type JsonObject = Readonly<Record<string, unknown>>;

/** Statistics of the feedback with one key. */
export interface KeyStats {
  readonly n: number;
  /** Mean of the scores, where true counts as 1 and false as 0; `null` if there are no scores. */
  readonly avg: number | null;
  /** How often each value was submitted, the most frequent value first. */
  readonly values: Readonly<Record<string, number>>;
}

/** Feedback queries that the handlers of runs need. */
export interface RunFeedbackReads {
  /**
   * Statistics by run; if `comparativeId` is set, only of the feedback given in that comparison. Runs without
   * feedback have no entry.
   */
  readStatsOfRuns(
    tenantId: string,
    runIds: readonly string[],
    comparativeId?: string,
  ): Promise<ReadonlyMap<string, FeedbackStats>>;
  /** Combined statistics of all runs that a filter matches. */
  readStatsOfFilter(tenantId: string, filter: RunFilter): Promise<FeedbackStats>;
}
