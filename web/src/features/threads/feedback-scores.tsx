import { toVisibleText } from "../../components/text/visible-text.ts";
import { FeedbackFigure } from "../runs/feedback-summary.tsx";
import type { FeedbackScores as Scores } from "./thread-item.ts";

/** Maximum number of keys that a row shows. */
const maxKeys = 4;

/** Shows the mean score of the feedback with each key, or the most frequent value of a key without scores. */
export const FeedbackScores = ({ scores }: { readonly scores: Scores }) => (
  <>
    {Object.entries(scores)
      .slice(0, maxKeys)
      .map(([key, summary]) => (
        <span key={key} className="tag">
          <bdi>{toVisibleText(key)}</bdi> <FeedbackFigure summary={summary} />
        </span>
      ))}
  </>
);
