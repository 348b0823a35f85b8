import { formatCount } from "../../components/chart/chart-data.ts";
import type { FeedbackTrend } from "./feedback.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";

/** Keys that the project was judged under, the most frequent first. */
export const KeyList = ({
  keys,
  selected,
  onSelect,
}: {
  readonly keys: FeedbackTrend["keys"];
  readonly selected: string;
  readonly onSelect: (key: string) => void;
}) => (
  <ul className="feedback-keys" aria-label="Keys">
    {keys.map(({ key, n, mean }) => (
      <li key={key}>
        <button type="button" aria-pressed={key === selected} onClick={() => onSelect(key)}>
          <span className="feedback-key">{toVisibleText(key)}</span>
          <span className="feedback-count">
            {n.toLocaleString("en")}
            {mean !== null && ` · mean ${formatCount(mean)}`}
          </span>
        </button>
      </li>
    ))}
  </ul>
);
