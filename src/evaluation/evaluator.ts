import type { KeyValues, Run } from "../main/index.ts";
import type { EvaluationExample, ExampleAttachments } from "./data.ts";

/** What an evaluator receives for one row: the example, and what the target returned for it. */
export interface EvaluatorArguments<Inputs = KeyValues, Outputs = unknown, Reference = KeyValues> {
  /** The target's run for this row. It has ended. */
  readonly run: Run;
  readonly example: EvaluationExample<Inputs, Reference>;
  readonly inputs: Inputs;
  /** The outputs that the target returned. */
  readonly outputs: Outputs;
  /** The expected outputs; `undefined` at run time if the example has none. */
  readonly referenceOutputs: Reference;
  readonly attachments: ExampleAttachments;
  /** Aborted when the evaluator's time is up, or when the evaluation is aborted. */
  readonly signal: AbortSignal;
  /**
   * The inputs in the form that autoevals scorers expect. An object with a single member is replaced by the value of
   * that member.
   */
  readonly input: never;
  /**
   * The outputs in the form that autoevals scorers expect. An object with a single member is replaced by the value of
   * that member.
   */
  readonly output: never;
  /** The expected outputs in the form that autoevals scorers expect; see `output`. */
  readonly expected: never;
}

/** One score of an evaluator. At least one of `score`, `value`, `comment` and `error` should be present. */
export interface Score {
  /** The key of the feedback. @defaultValue the evaluator's name */
  readonly key?: string | undefined;
  /** The same as `key`, under the name that autoevals uses. */
  readonly name?: string | undefined;
  /** A number (higher is better), or a boolean for passed or failed. */
  readonly score?: number | boolean | null | undefined;
  /** A category, or any value that JSON can hold. */
  readonly value?: unknown;
  readonly comment?: string | null | undefined;
  /** Metadata that is stored with the feedback. */
  readonly metadata?: KeyValues | null | undefined;
  /** The output that would have been correct. */
  readonly correction?: KeyValues | string | null | undefined;
  /** Why there is no score. */
  readonly error?: unknown;
}

/**
 * What an evaluator returns: a number, a boolean, a category as a string, a score with details, or several such scores.
 * `null` and `undefined` mean that the evaluator does not apply to the row.
 */
export type EvaluatorResult =
  | number
  | boolean
  | string
  | Score
  | readonly Score[]
  | { readonly results: readonly Score[] }
  | null
  | undefined;

/**
 * A function that judges the outputs of a target. If it throws, the error is recorded as a failure of the evaluator.
 */
export type EvaluatorFunction<Inputs = KeyValues, Outputs = unknown, Reference = KeyValues> = (
  args: EvaluatorArguments<Inputs, Outputs, Reference>,
) => EvaluatorResult | Promise<EvaluatorResult>;

/** An evaluator: a function, or an object with a function and the evaluator's name. */
export type Evaluator<Inputs = KeyValues, Outputs = unknown, Reference = KeyValues> =
  | EvaluatorFunction<Inputs, Outputs, Reference>
  | {
      readonly name: string;
      readonly evaluate: EvaluatorFunction<Inputs, Outputs, Reference>;
    };

/** A score as it was recorded. It contains either a judgement (such as `score` or `value`) or an `error`. */
export interface RowScore {
  readonly key: string;
  readonly score?: number | boolean | undefined;
  readonly value?: unknown;
  readonly comment?: string | undefined;
  readonly metadata?: KeyValues | undefined;
  readonly correction?: KeyValues | string | undefined;
  /** Why the evaluator failed. */
  readonly error?: string | undefined;
  /** Id of the evaluator's run. */
  readonly sourceRunId?: string | undefined;
}
