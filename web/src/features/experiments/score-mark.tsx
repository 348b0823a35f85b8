import { toVisibleText } from "../../components/text/visible-text.ts";
import { formatScore, toScoreChange } from "./score-change.ts";

/** A score, and its difference from the baseline as an arrow, a signed number and a color. */
export const ScoreMark = ({
  name,
  score,
  baseline,
  isLowerBetter,
}: {
  /** Feedback key; absent if the column header shows it. */
  readonly name?: string;
  readonly score: number | undefined;
  /** The baseline's score; absent for the baseline itself, or if there is nothing to compare with. */
  readonly baseline?: number | undefined;
  readonly isLowerBetter: boolean;
}) => {
  const change = toScoreChange(baseline, score, isLowerBetter);
  return (
    <span className="score">
      {name !== undefined && (
        <span className="score-name" title={name.length > 12 ? toVisibleText(name) : undefined}>
          {toVisibleText(name)}
        </span>
      )}
      <b>{score === undefined ? "–" : formatScore(score)}</b>
      {change !== undefined && (
        <span className="score-change" data-kind={change.kind} title={change.kind}>
          {change.text}
        </span>
      )}
    </span>
  );
};
