import type { EvaluationView } from "./evaluation-view.ts";
import { getTitle } from "./evaluation-view.ts";
import { formatCount, formatScore } from "./format.ts";

/** The lowest average that a score may have. */
export interface Threshold {
  readonly key: string;
  readonly minimum: number;
}

/** The limits beyond which the command fails. */
export interface Limits {
  readonly thresholds: readonly Threshold[];
  readonly maxErrors: number;
  readonly maxRegressions: number;
}

/** A reason why the command fails. */
export interface Failure {
  /** The evaluation that failed; absent if the failure concerns all evaluations. */
  readonly view?: EvaluationView;
  /** Identifies the check, such as `fail-under right`. */
  readonly check: string;
  readonly message: string;
}

/** Returns a failure for each limit that an evaluation exceeds. */
export function checkEvaluation(view: EvaluationView, limits: Limits): readonly Failure[] {
  const { result, failure } = view;
  if (result === undefined) {
    return [{ view, check: "evaluation", message: failure ?? "it did not end" }];
  }
  const { failed, evaluatorErrors, rows, scores, comparison, unacknowledged } = result;
  const failures: Failure[] = [];
  if (rows === 0) {
    // A misspelled split or filter must not let the command succeed.
    failures.push({
      view,
      check: "rows",
      message: "its data has no rows; check dataset, splits and filter",
    });
  }
  if (failed + evaluatorErrors > limits.maxErrors) {
    failures.push({
      view,
      check: "errors",
      message: `the target failed for ${failed} of ${formatCount(rows, "row")}, and evaluators failed ${formatCount(evaluatorErrors, "time")}`,
    });
  }
  const regressions = comparison?.regressionCount ?? 0;
  if (regressions > limits.maxRegressions) {
    failures.push({
      view,
      check: "regressions",
      message: `${formatCount(regressions, "regression")} against ${comparison?.baseline.name ?? "the baseline"}`,
    });
  }
  for (const { key, minimum } of limits.thresholds) {
    const mean = scores[key]?.mean;
    if (mean !== undefined && mean < minimum) {
      failures.push({
        view,
        check: `fail-under ${key}`,
        message: `${key} is ${formatScore(mean)}, below ${minimum}`,
      });
    }
  }
  if (unacknowledged > 0) {
    failures.push({
      view,
      check: "unacknowledged",
      message: `${formatCount(unacknowledged, "row")} could not be sent to the server; to send them, run the same command again`,
    });
  }
  return failures;
}

/**
 * Returns a failure for each threshold whose key is not a score of any evaluation, because the key is probably
 * misspelled.
 */
export function checkThresholds(
  views: readonly EvaluationView[],
  { thresholds }: Limits,
): readonly Failure[] {
  const keys = new Set(
    views.flatMap(({ result }) =>
      Object.entries(result?.scores ?? {}).flatMap(([key, { mean }]) =>
        mean === undefined ? [] : [key],
      ),
    ),
  );
  const scoresText =
    keys.size === 0 ? "there are no scores" : `the scores are ${[...keys].join(", ")}`;
  return thresholds
    .filter(({ key }) => !keys.has(key))
    .map(({ key }) => ({
      check: `fail-under ${key}`,
      message: `no evaluation has a score ${key}; ${scoresText}`,
    }));
}

/** Formats a failure as one line. */
export const describeFailure = ({ view, message }: Failure): string =>
  view === undefined ? message : `${getTitle(view)}: ${message}`;
