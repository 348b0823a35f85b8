import type { RunFilter } from "./run-query.ts";

/** What was judged, and how. `null` where it was not said. */
export interface Judgement {
  readonly score: number | boolean | null;
  /** Any JSON. */
  readonly value: unknown;
  readonly comment: string | null;
  readonly correction: JsonObject | string | null;
  /** What the scores of the key mean. */
  readonly config: JsonObject | null;
}

export interface FeedbackDraft extends Judgement {
  readonly id: string;
  /** `null`: on a project. */
  readonly runId: string | null;
  /** The project judged, or that of the run where the caller names it. */
  readonly projectId: string | null;
  readonly comparativeId: string | null;
  readonly key: string;
  readonly sourceType: string;
  readonly sourceMetadata: JsonObject | null;
  readonly extra: JsonObject | null;
  /** `null`: now. */
  readonly createdMicros: number | null;
}

/** By key. */
export type FeedbackStats = Readonly<Record<string, KeyStats>>;

export type JsonObject = Readonly<Record<string, unknown>>;

/** What the judgements of one key come to. */
export interface KeyStats {
  readonly n: number;
  /** Mean of the scores, true as 1 and false as 0; `null` where there is none. */
  readonly avg: number | null;
  /** How often each value was given, the most frequent first. */
  readonly values: Readonly<Record<string, number>>;
}

/** What the handlers of runs show of feedback. */
export interface RunFeedbackReads {
  /** By run, of one comparison alone where it is named; runs without feedback have no entry. */
  statsOfRuns(
    tenantId: string,
    runIds: readonly string[],
    comparativeId?: string,
  ): ReadonlyMap<string, FeedbackStats>;
  /** Of all runs that a filter finds, together. */
  statsOfFilter(tenantId: string, filter: RunFilter): FeedbackStats;
}
