import type { Client, KeyValues } from "../main/index.ts";
import type { CacheMode, CacheSettings } from "./cache/cache-options.ts";
import type { EvaluationData } from "./data.ts";
import type { Evaluator, EvaluatorResult } from "./evaluator.ts";
import type { EvaluatedRow, EvaluationProgress, ExperimentInfo } from "./result.ts";

/** Arguments of a summary evaluator, which is called when all rows have finished. */
export interface SummaryArguments<Inputs = KeyValues, Outputs = unknown, Reference = KeyValues> {
  readonly experiment: ExperimentInfo;
  /** Counts and averages of all rows. */
  readonly summary: EvaluationProgress;
  /** Reads all rows; can be called more than once. */
  readRows(): AsyncIterable<EvaluatedRow<Inputs, Outputs, Reference>>;
}

/** A function that judges the experiment as a whole. Its scores become feedback on the experiment. */
export type SummaryEvaluator<Inputs = KeyValues, Outputs = unknown, Reference = KeyValues> = (
  args: SummaryArguments<Inputs, Outputs, Reference>,
) => EvaluatorResult | Promise<EvaluatorResult>;

/** The experiment to compare with, and how to compare. */
export interface Baseline {
  /** The experiment's name, or `true` for the one that is pinned on the dataset. @defaultValue `true` */
  readonly experiment?: string | true | undefined;
  /** Feedback keys for which a lower score is better. */
  readonly lowerIsBetter?: readonly string[] | undefined;
}

/** Options that all evaluations have. */
export interface EvaluatorOptions<Inputs = KeyValues, Outputs = unknown, Reference = KeyValues> {
  /** Evaluators of each row. They run concurrently, after the target. */
  readonly evaluators?: readonly Evaluator<Inputs, Outputs, Reference>[] | undefined;
  /** Number of rows in progress, 1 to 10,000. @defaultValue 10 */
  readonly concurrency?: number | undefined;
  /** Longest time of one call of the target or of an evaluator, in milliseconds. @defaultValue 600,000 */
  readonly timeoutMs?: number | undefined;
  /** Aborts the evaluation. Finished rows stay stored. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called for each row when it has finished. The row counts as in progress (see `concurrency`) until the returned
   * promise resolves.
   */
  readonly onRow?:
    | ((row: EvaluatedRow<Inputs, Outputs, Reference>) => void | Promise<void>)
    | undefined;
  /** Project of the evaluators' runs. @defaultValue `"evaluators"` */
  readonly evaluatorProject?: string | undefined;
  /** Folder of the journals. @defaultValue `.millrace/evaluations` in the working directory */
  readonly journalDir?: string | undefined;
  /** @defaultValue a client that the environment configures, which is closed at the end */
  readonly client?: Client | undefined;
}

/** The data and the evaluators of `evaluate`, and how its rows run and are stored. */
export interface EvaluateOptions<
  Inputs = KeyValues,
  Outputs = unknown,
  Reference = KeyValues,
> extends EvaluatorOptions<Inputs, Outputs, Reference> {
  readonly data: EvaluationData<Inputs, Reference>;
  /** Evaluators of the whole experiment. They run when all rows have finished. */
  readonly summaryEvaluators?: readonly SummaryEvaluator<Inputs, Outputs, Reference>[] | undefined;
  /**
   * Name of the experiment. If a finished experiment has the name, a number is appended.
   *
   * @defaultValue the names of the target and of the dataset
   */
  readonly experiment?: string | undefined;
  readonly description?: string | undefined;
  /** Metadata that is stored with the experiment. */
  readonly metadata?: KeyValues | undefined;
  /** How often each example is evaluated, 1 to 1,000. @defaultValue 1 */
  readonly repetitions?: number | undefined;
  /** How often a failed call of the target is repeated, 0 to 100. @defaultValue 0 */
  readonly retries?: number | undefined;
  /**
   * Whether to continue an experiment of this name. `"auto"` continues it if it was interrupted and the code of target
   * and evaluators has not changed. `true` always continues it; if it was finished, only new rows are evaluated.
   * `false` never continues it.
   *
   * @defaultValue `"auto"`
   */
  readonly resume?: boolean | "auto" | undefined;
  /**
   * The experiment to compare with: its name, or `true` for the baseline that is pinned on the dataset. `false`
   * compares with no experiment.
   *
   * @defaultValue `false`
   */
  readonly baseline?: string | boolean | Baseline | undefined;
  /**
   * How the requests that targets and evaluators make with `fetch` are cached: their responses are recorded and
   * replayed, so that a second evaluation sends no requests.
   *
   * @defaultValue all requests are sent
   */
  readonly cache?: CacheMode | CacheSettings | undefined;
}
