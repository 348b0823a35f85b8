/** Tokens and costs of a trace, summed over its model calls. A member is `null` if no call has the number. */
export interface TraceUsage {
  readonly tokens: number | null;
  readonly cost: number | null;
  readonly promptCost: number | null;
  readonly completionCost: number | null;
}

/**
 * The results and scores of an experiment, by example, as lists in the order of `exampleIds`. A list of objects would
 * be too slow: a comparison of many experiments reads hundreds of thousands of results.
 */
export interface ComparedExperiment {
  readonly id: string;
  /** The examples that the experiment has run, sorted by id. */
  readonly exampleIds: readonly string[];
  readonly runCounts: readonly number[];
  readonly errorCounts: readonly number[];
  /** Start of the experiment's first run on the example. */
  readonly firstStartMicros: readonly number[];
  /** Mean scores over all runs on an example, by feedback key. `NaN` if an example has no score. */
  readonly scores: ReadonlyMap<string, Float64Array>;
}

/** The order of compared examples: the largest regression first, the largest improvement first, or by start time. */
export type ComparisonOrder = "regression" | "improvement" | "run";
/** Which of the compared examples to return. */
export type ComparisonSubset = "all" | "regressions" | "improvements" | "errors";

/** Selects how experiments are compared. */
export interface ComparisonQuery {
  /** Id of the experiment that the others are compared with. */
  readonly baselineId: string;
  /** If set, only scores with this key are rated; otherwise all scores. */
  readonly key?: string | undefined;
  /** Keys of scores for which lower is better. */
  readonly lowerIsBetter: ReadonlySet<string>;
  readonly order: ComparisonOrder;
  readonly subset: ComparisonSubset;
}

/** One example with the scores of each experiment on it. */
export interface ComparedExample {
  readonly exampleId: string;
  /** Start of the first run on the example. */
  readonly firstStartMicros: number;
  /** Scores by experiment id, then by key. */
  readonly scores: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** Whether a run of any of the experiments on the example has an error. */
  readonly hasError: boolean;
  /**
   * The largest regression of a score compared with the baseline, as a share of the range of all scores of that key: 0
   * or negative. A new error counts as -2.
   */
  readonly worstChange: number;
  /**
   * The largest improvement of a score compared with the baseline, as a share of the range of all scores of that key:
   * 0 or positive. An error that was fixed counts as 2.
   */
  readonly bestChange: number;
}

/** Statistics of one experiment's scores with one feedback key. */
export interface KeySummary {
  readonly mean: number | null;
  /** Number of examples that have a score. */
  readonly count: number;
  /** Number of examples whose score is better than that of the baseline. */
  readonly better: number;
  /** Number of examples whose score is worse than that of the baseline. */
  readonly worse: number;
  /** Number of examples whose score equals that of the baseline. */
  readonly same: number;
  /** Histogram of the scores: how many are in each tenth of the range from `ComparedKey.min` to `ComparedKey.max`. */
  readonly bins: readonly number[];
}

/** The scores with one feedback key in all compared experiments. */
export interface ComparedKey {
  readonly key: string;
  /** The lowest score of this key in any of the experiments. */
  readonly min: number;
  readonly max: number;
  readonly byExperiment: ReadonlyMap<string, KeySummary>;
}

/** The statistics of a comparison, over all examples. */
export interface ComparisonSummary {
  /** Number of examples on which any of the experiments has runs. */
  readonly exampleCount: number;
  /** Number of examples in the requested subset. */
  readonly matchingCount: number;
  /** The feedback keys with scores, such as `correctness`. */
  readonly keys: readonly ComparedKey[];
}

/** The result of comparing experiments example by example. */
export interface Comparison extends ComparisonSummary {
  /** Returns examples of the requested subset, in the requested order. */
  readonly readPage: (offset: number, limit: number) => readonly ComparedExample[];
}

/** Selects what to compare, and which page of the result to return. */
export interface ComparisonRequest extends ComparisonQuery {
  readonly experimentIds: readonly string[];
  /** If set, only scores of this comparison are compared; otherwise only scores that belong to no comparison. */
  readonly comparativeId?: string | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** The number of runs and errors of an experiment, over all examples. */
export interface ExperimentTotals {
  readonly id: string;
  readonly exampleCount: number;
  readonly runCount: number;
  readonly errorCount: number;
}

/** A page of a {@link Comparison}. */
export interface ComparisonPage extends ComparisonSummary {
  readonly examples: readonly ComparedExample[];
  readonly experiments: readonly ExperimentTotals[];
}

/** Selects the runs of one page of a comparison. */
export interface ComparedRunsQuery {
  readonly experimentIds: readonly string[];
  readonly exampleIds: readonly string[];
  /** If set, only scores of this comparison are read; otherwise only scores that belong to no comparison. */
  readonly comparativeId?: string | undefined;
  /** Maximum number of characters of outputs and errors. */
  readonly previewChars: number;
}

/** A run of an experiment, with the beginnings of its payloads. */
export interface ComparedRun {
  readonly experimentId: string;
  readonly exampleId: string;
  readonly id: string;
  readonly traceId: string;
  readonly hasError: boolean;
  readonly latencyMicros: number | null;
  readonly outputs: PayloadPreview | null;
  readonly error: PayloadPreview | null;
  /** The mean scores of the run, by feedback key. */
  readonly scores: Readonly<Record<string, number>>;
  readonly usage: TraceUsage | undefined;
}

/** The beginning of a payload. */
export interface PayloadPreview {
  readonly text: string;
  /** Size of the whole payload as JSON. */
  readonly sizeBytes: number;
}

/** The reads of the runs and the feedback of experiments. */
export interface ExperimentReads {
  /** Compares experiments example by example, over their root runs. */
  compare(tenantId: string, request: ComparisonRequest): ComparisonPage;
  /** Reads the runs of experiments on some examples, in the order of their start. */
  readRuns(tenantId: string, query: ComparedRunsQuery): readonly ComparedRun[];
  /**
   * Returns the mean number of output tokens of the latest model calls of one experiment: the first in the list that
   * has calls with token counts. `null` if no experiment has any.
   */
  measureOutputTokens(tenantId: string, experimentIds: readonly string[]): number | null;
  /** Reads token counts and costs by trace id. Traces of other tenants are left out. */
  readUsageOfTraces(tenantId: string, traceIds: readonly string[]): ReadonlyMap<string, TraceUsage>;
}
