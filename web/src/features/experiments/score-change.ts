/** How a score differs from the score of the baseline. */
export interface ScoreChange {
  readonly kind: "better" | "worse" | "same";
  /** `▲ +0.25`, `▼ −0.5` or `=`. The arrow shows whether the score rose or fell, even if lower is better. */
  readonly text: string;
}

/** Smaller differences count as equal, because rounding can make means of equal scores differ slightly. */
const tolerance = 1e-9;

// Create each formatter only once, because creating one takes longer than rendering a cell.
const wholeFormat = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const smallChangeFormat = new Intl.NumberFormat("en", { maximumSignificantDigits: 1 });
const fractionFormat = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });

/** Formats a score: `1`, `0.25`, `0.333`, `1,200`. */
export const formatScore = (score: number): string =>
  (Math.abs(score) >= 100 ? wholeFormat : fractionFormat).format(score);

/** Compares two scores. Returns `undefined` if one of them is missing. */
export function toScoreChange(
  before: number | undefined,
  after: number | undefined,
  isLowerBetter: boolean,
): ScoreChange | undefined {
  if (before === undefined || after === undefined) {
    return undefined;
  }
  const change = after - before;
  if (Math.abs(change) < tolerance) {
    return { kind: "same", text: "=" };
  }
  const rounded = formatScore(Math.abs(change));
  // If the change would be rounded to zero, show one significant digit: the means of many scores differ only a little.
  const amount = rounded === "0" ? smallChangeFormat.format(Math.abs(change)) : rounded;
  return {
    kind: change > 0 === isLowerBetter ? "worse" : "better",
    text: change > 0 ? `▲ +${amount}` : `▼ −${amount}`,
  };
}

/** Formats the percentage of better scores among those that differ from the baseline; `–` if no score differs. */
export function formatWinRate(betterCount: number, worseCount: number): string {
  const differingCount = betterCount + worseCount;
  return differingCount === 0 ? "–" : `${((betterCount / differingCount) * 100).toFixed(0)} %`;
}
