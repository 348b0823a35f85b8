import type { KeyValues, Quantiles } from "../main/index.ts";
import type { RowScore } from "./evaluator.ts";

/** The result of one evaluation of one example. */
export interface EvaluatedRow<Inputs = KeyValues, Outputs = unknown, Reference = KeyValues> {
  readonly runId: string;
  readonly exampleId: string;
  /** Counted from 1. */
  readonly repetition: number;
  readonly inputs: Inputs;
  readonly referenceOutputs?: Reference | undefined;
  /** Absent if the target failed. */
  readonly outputs?: Outputs | undefined;
  /** Describes the failure, if the target failed. */
  readonly error?: string | undefined;
  readonly scores: readonly RowScore[];
  /** A time in ISO 8601 format. */
  readonly startTime: string;
  /** Duration of the target's last attempt. */
  readonly durationMs: number;
  /** Number of calls of the target. */
  readonly attempts: number;
  /** Problems with the row that did not stop its evaluation, such as outputs that JSON can't represent. */
  readonly warnings: readonly string[];
  /** Whether an earlier process evaluated the row. */
  readonly isResumed: boolean;
}

/** A row whose values can have any type. */
export type UntypedRow = EvaluatedRow<unknown, unknown, unknown>;

/** The scores with one key, over all rows. */
export interface ScoreSummary {
  /** Number of scores. */
  readonly count: number;
  /** Average of the scores; `true` counts as 1 and `false` as 0. Absent if no score is a number or a boolean. */
  readonly mean?: number | undefined;
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  /** Standard deviation of the scores. */
  readonly deviation?: number | undefined;
  /** Number of rows for which the evaluator failed. */
  readonly errors: number;
}

/** Why the target or an evaluator failed. */
export interface FailureReason {
  /** `target`, or the key of the evaluator. */
  readonly source: string;
  /** The first line of the error's message, at most 200 characters. */
  readonly message: string;
  /** How often this message occurred. */
  readonly count: number;
}

/** The state of an evaluation at one moment. */
export interface EvaluationProgress {
  /** Finished rows, including resumed and failed ones. */
  readonly rows: number;
  /** Number of rows in total, if it is known. */
  readonly total?: number | undefined;
  /** Rows that an earlier process finished. */
  readonly resumed: number;
  /** Rows for which the target failed. */
  readonly failed: number;
  /** Failures of evaluators. */
  readonly evaluatorErrors: number;
  /** The first five different failures of the target and of evaluators. */
  readonly failureReasons: readonly FailureReason[];
  readonly scores: Readonly<Record<string, ScoreSummary>>;
  /** Durations of the target in rows that did not fail. */
  readonly durationMs: Quantiles;
  /** Rows whose run and feedback the server has acknowledged. */
  readonly acknowledged: number;
}

/** The experiment in which the rows are stored. The server stores an experiment as a project. */
export interface ExperimentInfo {
  readonly id: string;
  readonly name: string;
  /** Address in the UI; absent if the server did not report the tenant. */
  readonly url?: string | undefined;
  /** The dataset, if the rows are examples of one. */
  readonly datasetId?: string | undefined;
  /** The version of the dataset that the evaluation uses. It was determined at the start. */
  readonly datasetVersion?: string | undefined;
}

/** A difference between an example's score and its score in the baseline. */
export interface ScoreChange {
  readonly exampleId: string;
  /** The feedback key, or `error` for a change in how often the target failed. */
  readonly key: string;
  /** Average of the baseline's repetitions. */
  readonly baseline: number;
  readonly current: number;
  /** `current - baseline`. */
  readonly difference: number;
  /**
   * Probability of a difference at least this large by chance, from an exact permutation test over the repetitions.
   * Present if both experiments have at least two repetitions of the example.
   */
  readonly pValue?: number | undefined;
}

/** The comparison of one feedback key with the baseline, over the examples that both experiments scored. */
export interface ScoreComparison {
  readonly examples: number;
  readonly baseline: number;
  readonly current: number;
  /** `current - baseline`. */
  readonly difference: number;
  readonly improved: number;
  readonly regressed: number;
  readonly unchanged: number;
  /**
   * Probability that chance alone divides improved and regressed examples at least this unevenly, from a two-sided sign
   * test.
   */
  readonly pValue: number;
  /** 95 percent confidence interval of the difference; present for at least two examples. */
  readonly interval?: readonly [low: number, high: number] | undefined;
  /** Whether a higher score is better. */
  readonly higherIsBetter: boolean;
}

/** The comparison of the experiment with its baseline. */
export interface BaselineComparison {
  readonly baseline: ExperimentInfo;
  /** Examples that both experiments contain. */
  readonly examples: number;
  /** Examples of the experiment that the baseline does not contain. */
  readonly newExamples: number;
  /** The worst regressions first, at most 1,000. */
  readonly regressions: readonly ScoreChange[];
  /** The largest improvements first, at most 1,000. */
  readonly improvements: readonly ScoreChange[];
  readonly regressionCount: number;
  readonly improvementCount: number;
  readonly scores: Readonly<Record<string, ScoreComparison>>;
}

/** How many requests of an evaluation were replayed, recorded and sent. */
export interface CacheCounts {
  /** Requests whose responses came from files. */
  readonly replayed: number;
  /** Requests that were sent, and whose responses were recorded. */
  readonly recorded: number;
  /** Requests that were sent, and whose responses were not recorded, such as errors. */
  readonly passed: number;
  /** Requests without a recorded response, in the mode `replay`. */
  readonly missed: number;
}

/** What `evaluate` returns once all rows have finished: the experiment, its scores and totals. */
export interface EvaluationResult<
  Inputs = KeyValues,
  Outputs = unknown,
  Reference = KeyValues,
> extends EvaluationProgress {
  readonly experiment: ExperimentInfo;
  /** Scores of the summary evaluators. */
  readonly summaryScores: readonly RowScore[];
  /** Tokens that the server counted for the target. */
  readonly totalTokens?: number | undefined;
  /** Cost of the target in US dollars, if the server computed it. */
  readonly totalCost?: number | undefined;
  readonly comparison?: BaselineComparison | undefined;
  /** Present with the option `cache`. */
  readonly cache?: CacheCounts | undefined;
  /**
   * Number of rows in the journal that the server has not acknowledged. Running the same evaluation again sends them.
   */
  readonly unacknowledged: number;
  /** Path of the journal. */
  readonly journal: string;
  readonly warnings: readonly string[];
  /** Reads all rows from the journal, in the order in which they finished. */
  readRows(): AsyncIterable<EvaluatedRow<Inputs, Outputs, Reference>>;
}
