import { ValidationError } from "../../main/index.ts";
import type { KeyValues } from "../../main/index.ts";
import type { Evaluator, EvaluatorResult, RowScore } from "../evaluator.ts";
import { toNamedEvaluators } from "../rows/row-runner.ts";
import { requireAttempt } from "./test-attempt.ts";

/**
 * Sets the outputs of the current test. They are stored even if the test fails later. A value that the test function
 * returns replaces them.
 *
 * @throws `ValidationError` outside of a test of millrace/vitest, or if the test has ended.
 */
export function logOutputs(outputs: unknown): void {
  requireAttempt("logOutputs").setOutputs(outputs);
}

/**
 * Scores the current test. The score becomes feedback with this key on the test's run; it does not make the test fail.
 * The value is a number, a boolean, a category as a string, or a score with details such as `{ score, comment }`.
 *
 * @throws `ValidationError` if the value is not valid, outside of a test of millrace/vitest, or if the test has ended.
 */
export function score(key: string, value: NonNullable<EvaluatorResult>): void;
/**
 * Scores the current test with an evaluator, such as `exactMatch()`. The evaluator is called with the example, and with
 * the outputs that are passed, also `null`, or otherwise with the logged ones. If the evaluator throws, the error is
 * recorded as its failure.
 *
 * @returns the scores, for example to check them with `expect`.
 * @throws `ValidationError` if there are no outputs, outside of a test of millrace/vitest, or if the test has ended.
 */
export function score<Inputs = KeyValues, Outputs = unknown, Reference = KeyValues>(
  evaluator: Evaluator<Inputs, Outputs, Reference>,
  outputs?: Outputs,
): Promise<readonly RowScore[]>;
export function score(
  keyOrEvaluator: string | Evaluator<unknown, unknown, unknown>,
  ...[value]: readonly unknown[]
): void | Promise<readonly RowScore[]> {
  const attempt = requireAttempt("score");
  if (typeof keyOrEvaluator === "string") {
    if (value === undefined || value === null) {
      throw new ValidationError(
        `score: pass a value for ${JSON.stringify(keyOrEvaluator)}, such as a number or a boolean`,
      );
    }
    attempt.addScore(keyOrEvaluator, value);
    return undefined;
  }
  const [evaluator] = toNamedEvaluators([keyOrEvaluator]);
  if (evaluator === undefined || (value === undefined && !attempt.hasOutputs)) {
    throw new ValidationError(
      "score: there are no outputs to judge. Pass them as the second argument, or call logOutputs first",
    );
  }
  return attempt.evaluate(evaluator, value === undefined ? attempt.outputs : value);
}
