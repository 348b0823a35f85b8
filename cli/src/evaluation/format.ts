import type { EvaluationProgress } from "millrace/evaluation";

/** Formats a score, such as `0.85`. */
export const formatScore = (score: number): string => String(Number(score.toPrecision(3)));

/** Formats a duration in milliseconds, such as `1.2 ms` or `3.4 s`. */
export const formatMs = (ms: number): string =>
  ms < 1_000 ? `${Number(ms.toPrecision(2))} ms` : `${Number((ms / 1_000).toPrecision(2))} s`;

/** Formats a cost in US dollars. A cost below one dollar has two significant digits. */
export function formatCost(dollars: number | undefined): string {
  if (dollars === undefined) {
    return "-";
  }
  return `$${dollars >= 1 || dollars === 0 ? dollars.toFixed(2) : Number(dollars.toPrecision(2))}`;
}

/** Formats a count with its noun, such as `1 row` or `1,200 rows`. */
export const formatCount = (count: number, singular: string): string =>
  `${count.toLocaleString("en")} ${singular}${count === 1 ? "" : "s"}`;

/** Returns the number of failures of the target and of evaluators. */
export const countErrors = ({ failed, evaluatorErrors }: EvaluationProgress): number =>
  failed + evaluatorErrors;

/** Formats the averages by feedback key, such as `right 0.85`. */
export const formatScores = ({ scores }: Pick<EvaluationProgress, "scores">): readonly string[] =>
  Object.entries(scores).flatMap(([key, { mean }]) =>
    mean === undefined ? [] : [`${key} ${formatScore(mean)}`],
  );

/** Formats the rows that have finished, such as `12 of 40`. */
export const formatRows = ({ rows, total }: EvaluationProgress): string =>
  total === undefined
    ? rows.toLocaleString("en")
    : `${rows.toLocaleString("en")} of ${total.toLocaleString("en")}`;
