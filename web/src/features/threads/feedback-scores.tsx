import { formatCount } from "../../components/chart/chart-data.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import type { FeedbackScores as Scores } from "./thread-item.ts";

/** Maximum number of keys that a row shows. */
const maxKeys = 4;

/**
 * Shows the mean score of the feedback with each key. For a key without scores, shows the number of feedback entries.
 */
export const FeedbackScores = ({ scores }: { readonly scores: Scores }) => (
  <>
    {Object.entries(scores)
      .slice(0, maxKeys)
      .map(([key, { count, average }]) => (
        <span key={key} className="tag">
          <bdi>{toVisibleText(key)}</bdi>{" "}
          {average === undefined ? `${count}×` : formatCount(average)}
        </span>
      ))}
  </>
);
