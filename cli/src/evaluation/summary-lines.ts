import type {
  BaselineComparison,
  CacheCounts,
  FailureReason,
  ScoreChange,
} from "millrace/evaluation";
import type { EvaluationView } from "./evaluation-view.ts";
import { toPrintable } from "../to-printable.ts";
import { getTitle } from "./evaluation-view.ts";
import { formatCost, formatCount, formatMs, formatScore, formatScores } from "./format.ts";

/** Maximum number of regressions that are printed. */
const shownRegressions = 5;

/** Describes the result of an evaluation in a few lines. */
export function summarizeEvaluation(view: EvaluationView): readonly string[] {
  const { result, failure, totalCost } = view;
  if (result === undefined) {
    return [`${getTitle(view)}: failed: ${failure ?? "it did not end"}`];
  }
  const { rows, resumed, failed, evaluatorErrors, durationMs, comparison, cache, warnings } =
    result;
  const facts = [
    `${formatCount(rows, "row")}${resumed > 0 ? ` (${resumed} resumed)` : ""}`,
    ...formatScores(result),
    ...(durationMs.count > 0 ? [`p50 ${formatMs(durationMs.p50)}`] : []),
    ...(totalCost === undefined ? [] : [formatCost(totalCost)]),
    `${failed} failed`,
    ...(evaluatorErrors > 0 ? [formatCount(evaluatorErrors, "evaluator error")] : []),
  ];
  return [
    `${getTitle(view)}: ${facts.join(", ")}`,
    ...result.failureReasons.map(describeReason),
    ...(comparison === undefined ? [] : describeComparison(comparison, view)),
    ...(cache === undefined ? [] : [describeCache(cache)]),
    ...warnings.map((warning) => `  warning: ${warning}`),
  ];
}

const describeReason = ({ source, message, count }: FailureReason): string =>
  `  ${source === "target" ? "the target" : source} failed${count === 1 ? "" : ` ${count} times`}: ${toPrintable(message)}`;

function describeCache({ replayed, recorded, passed, missed }: CacheCounts): string {
  const facts = [
    `${replayed} replayed`,
    `${recorded} recorded`,
    ...(passed > 0 ? [`${passed} not recorded`] : []),
    ...(missed > 0 ? [`${missed} missing`] : []),
  ];
  return `  cache: ${facts.join(", ")}`;
}

function describeComparison(
  { baseline, regressions, regressionCount, improvementCount, scores }: BaselineComparison,
  view: EvaluationView,
): readonly string[] {
  return [
    `  against ${baseline.name}: ${formatCount(regressionCount, "regression")}, ${formatCount(improvementCount, "improvement")}`,
    ...regressions
      .slice(0, shownRegressions)
      .map((change) => `    ${describeRegression(change, view)}`),
    ...(regressionCount > shownRegressions
      ? [`    and ${formatCount(regressionCount - shownRegressions, "other")}`]
      : []),
    ...Object.entries(scores).map(
      ([key, { baseline: before, current, improved, regressed, pValue }]) =>
        `    ${key} ${formatScore(before)} -> ${formatScore(current)}: ${improved} better, ${regressed} worse, p = ${formatScore(pValue)}`,
    ),
  ];
}

/** Formats a regression as one line, with the beginning of the example's inputs. */
export function describeRegression(
  change: ScoreChange,
  { regressedInputs }: Pick<EvaluationView, "regressedInputs">,
): string {
  const inputs = regressedInputs?.[change.exampleId];
  return describeChange(change) + (inputs === undefined ? "" : `: ${inputs}`);
}

/** Formats a regression or an improvement as one line. */
const describeChange = ({ key, baseline, current, exampleId, pValue }: ScoreChange): string =>
  `${key} ${formatScore(baseline)} -> ${formatScore(current)} for example ${exampleId}${pValue === undefined ? "" : ` (p = ${formatScore(pValue)})`}`;
