import type { KeyValues } from "../main/index.ts";
import type { EvaluatedRow, EvaluationProgress, EvaluationResult } from "./result.ts";

/**
 * An evaluation that has started. Await it to get the result, or iterate over it to get each row as it finishes, from
 * the first row on.
 */
export interface Evaluation<Inputs = KeyValues, Outputs = unknown, Reference = KeyValues>
  extends
    PromiseLike<EvaluationResult<Inputs, Outputs, Reference>>,
    AsyncIterable<EvaluatedRow<Inputs, Outputs, Reference>> {
  /** Counts and averages of the rows that have finished so far. */
  progress(): EvaluationProgress;
}

/** Identifies the row that is being evaluated. */
export interface CurrentRow {
  readonly experimentId: string;
  readonly exampleId: string;
  /** Number of the repetition, counted from 1. */
  readonly repetition: number;
}
