/** How a score stands to another one. */
export interface ScoreChange {
  readonly kind: "better" | "worse" | "same";
  /** `▲ +0.25`, `▼ −0.5`, `=`: the arrow is the score's own way, whatever is better. */
  readonly text: string;
}

/** Means of equal scores may differ in their last digit. */
const tolerance = 1e-9;

/** A score: `1`, `0.25`, `0.333`, `1,200`. */
export const formatScore = (score: number): string =>
  new Intl.NumberFormat("en", {
    maximumFractionDigits: Math.abs(score) >= 100 ? 0 : 3,
  }).format(score);

/** `undefined` where one of them is missing. */
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
  const size = formatScore(Math.abs(change));
  return {
    kind: change > 0 === isLowerBetter ? "worse" : "better",
    text: change > 0 ? `▲ +${size}` : `▼ −${size}`,
  };
}

/** Of those that differ, the share that is better, as a percentage; ties apart. */
export function formatWinRate(better: number, worse: number): string {
  const decided = better + worse;
  return decided === 0 ? "–" : `${((better / decided) * 100).toFixed(0)} %`;
}
