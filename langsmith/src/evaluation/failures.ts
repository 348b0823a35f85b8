import type { EvaluatedRow, RowScore } from "millrace/evaluation";
import type { KVMap } from "../schemas.ts";

/**
 * Prints one line for each failure in a row. Langsmith prints failures, too, because the evaluation continues after
 * them, and its results do not show the failures of evaluators.
 */
export function printFailures(
  targetName: string,
  { error, exampleId, runId, scores }: EvaluatedRow<KVMap, unknown, KVMap>,
): void {
  if (error !== undefined) {
    print(`Error running target function ${targetName} on example ${exampleId}`, error);
  }
  for (const score of scores) {
    if (score.error !== undefined) {
      print(`Error running evaluator ${score.key} on run ${runId}`, score.error);
    }
  }
}

/** Prints which summary evaluators failed. */
export function printSummaryFailures(scores: readonly RowScore[]): void {
  for (const { key, error } of scores) {
    if (error !== undefined) {
      print(`Error running summary evaluator ${key}`, error);
    }
  }
}

const print = (failure: string, error: string): void => {
  console.error(`${failure}: ${error.replaceAll(/\s*\n\s*/g, " ")}`);
};
