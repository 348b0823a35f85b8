import type { KeyValues } from "../main/index.ts";
import type { EvaluatedRow, EvaluationProgress, EvaluationResult } from "./result.ts";

/**
 * An evaluation that has started. Await it for the result, or iterate over it for the rows, from the first one on, while
 * it runs.
 */
export interface Evaluation<Inputs = KeyValues, Outputs = unknown, Reference = KeyValues>
  extends
    PromiseLike<EvaluationResult<Inputs, Outputs, Reference>>,
    AsyncIterable<EvaluatedRow<Inputs, Outputs, Reference>> {
  /** Counts and averages of the rows that have finished so far. */
  progress(): EvaluationProgress;
}

/** The row that is being evaluated. */
export interface CurrentRow {
  readonly experimentId: string;
  readonly exampleId: string;
  /** Counted from 1. */
  readonly repetition: number;
}
