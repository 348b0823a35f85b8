import { toVisibleText } from "../../components/text/visible-text.ts";
import { formatScore, toScoreChange } from "./score-change.ts";

/** A score, and how it stands to the baseline's: by arrow and sign, and by colour. */
export const ScoreMark = ({
  name,
  score,
  baseline,
  isLowerBetter,
}: {
  /** Left out where the column already has it. */
  readonly name?: string;
  readonly score: number | undefined;
  /** Absent: it is the baseline, or nothing to hold it against. */
  readonly baseline?: number | undefined;
  readonly isLowerBetter: boolean;
}) => {
  const change = toScoreChange(baseline, score, isLowerBetter);
  return (
    <span className="score">
      {name !== undefined && <span className="score-name">{toVisibleText(name)}</span>}
      <b>{score === undefined ? "–" : formatScore(score)}</b>
      {change !== undefined && (
        <span className="score-change" data-kind={change.kind} title={change.kind}>
          {change.text}
        </span>
      )}
    </span>
  );
};
