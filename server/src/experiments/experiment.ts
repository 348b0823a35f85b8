/** The result of an experiment on one example, over all repetitions. */
export interface ExampleOutcome {
  readonly exampleId: string;
  readonly runCount: number;
  readonly errorCount: number;
  /** Mean over the runs that have ended; `null` if no run has ended. */
  readonly latencyMicros: number | null;
  /** Start of the first of these runs. */
  readonly firstStartMicros: number;
}

/** The mean score of one key on an experiment's runs of one example. */
export interface ExampleScore {
  readonly exampleId: string;
  readonly key: string;
  readonly score: number;
}

/** Tokens and cost of a trace, summed over its runs of type `llm`. */
export interface TraceUsage {
  readonly tokens: number | null;
  readonly cost: number | null;
}

/** An experiment with the data that a comparison needs. */
export interface ComparedExperiment {
  readonly id: string;
  readonly outcomes: readonly ExampleOutcome[];
  readonly scores: readonly ExampleScore[];
}

export type ComparisonOrder = "regression" | "improvement" | "run";
export type ComparisonSubset = "all" | "regressions" | "improvements" | "errors";

export interface ComparisonQuery {
  /** Id of the experiment with which the others are compared. */
  readonly baselineId: string;
  /** If set, only this score is rated; otherwise all scores. */
  readonly key?: string | undefined;
  /** Keys of scores for which lower is better. */
  readonly lowerIsBetter: ReadonlySet<string>;
  readonly order: ComparisonOrder;
  readonly only: ComparisonSubset;
}

/** One example with the scores of each experiment on it. */
export interface ComparedExample {
  readonly exampleId: string;
  readonly startMicros: number;
  /** Scores by experiment id, then by key. */
  readonly scores: ReadonlyMap<string, ReadonlyMap<string, number>>;
  readonly hasError: boolean;
  /**
   * The largest change for the worse compared with the baseline, as a share of the range of the key's scores; 0 or
   * negative. A new error counts as -2.
   */
  readonly worst: number;
  /**
   * The largest change for the better compared with the baseline; 0 or positive. An error that was fixed counts as 2.
   */
  readonly best: number;
}

/** Statistics of one experiment's scores of one key. */
export interface KeySummary {
  readonly mean: number | null;
  readonly count: number;
  /** Number of examples with a better score than the baseline. */
  readonly better: number;
  readonly worse: number;
  readonly same: number;
  /** Histogram: the number of scores in each tenth of the range of the key's scores. */
  readonly bins: readonly number[];
}

export interface ComparedKey {
  readonly key: string;
  readonly min: number;
  readonly max: number;
  readonly byExperiment: ReadonlyMap<string, KeySummary>;
}

export interface Comparison {
  /** The examples of the requested subset, in the requested order. */
  readonly examples: readonly ComparedExample[];
  readonly total: number;
  readonly keys: readonly ComparedKey[];
}

/** Selects what to compare, and which page of the result to return. */
export interface ComparisonRequest extends ComparisonQuery {
  readonly experimentIds: readonly string[];
  /** If set, only scores that belong to this comparison; otherwise only scores that belong to no comparison. */
  readonly comparativeId?: string | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** The totals of an experiment over all of its examples. */
export interface ExperimentTotals {
  readonly id: string;
  readonly exampleCount: number;
  readonly runCount: number;
  readonly errorCount: number;
  /** Mean over the examples with a run that has ended; `null` if there is no such run. */
  readonly latencyMicros: number | null;
}

/** A page of a {@link Comparison}. */
export interface ComparisonPage extends Comparison {
  /** Number of examples in the requested subset. */
  readonly matching: number;
  readonly experiments: readonly ExperimentTotals[];
}

export interface ExperimentReads {
  /** Compares experiments example by example, over their root runs. */
  compare(tenantId: string, request: ComparisonRequest): ComparisonPage;
  /** Returns token counts and cost by trace id, for the traces that belong to the tenant. */
  usageOfTraces(tenantId: string, traceIds: readonly string[]): ReadonlyMap<string, TraceUsage>;
}
