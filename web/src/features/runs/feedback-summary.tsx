import { toNumber, toRecord } from "../../api/parse.ts";
import { formatCount } from "../../components/chart/chart-data.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";

/** The feedback with one key: on a run, a turn or a thread. */
export interface FeedbackSummary {
  readonly count: number;
  /** The mean score; `undefined` if no feedback has a score. */
  readonly average: number | undefined;
  /** The numbers of entries with each value, such as a category. */
  readonly values: Readonly<Record<string, number>>;
}

/** Parses the statistics of a key in `feedback_stats`. */
export function parseFeedbackSummary(value: unknown): FeedbackSummary {
  const { n, avg, values } = toRecord(value);
  return {
    count: toNumber(n) ?? 0,
    average: toNumber(avg),
    values: Object.fromEntries(
      Object.entries(toRecord(values)).map(([text, count]) => [text, toNumber(count) ?? 0]),
    ),
  };
}

/** The mean score; without scores the most frequent value, or else the number of entries. */
export const FeedbackFigure = ({
  summary: { count, average, values },
}: {
  readonly summary: FeedbackSummary;
}) => {
  if (average !== undefined) {
    return formatCount(average);
  }
  const sortedValues = Object.entries(values).toSorted(([, countA], [, countB]) => countB - countA);
  const [mostFrequent] = sortedValues;
  if (mostFrequent === undefined) {
    return `${count}×`;
  }
  const [value, valueCount] = mostFrequent;
  const countText = valueCount < count ? ` ${valueCount} of ${count}` : ` ${count}×`;
  return (
    <span title={sortedValues.map(([text, n]) => `${toVisibleText(text)} ${n}×`).join(", ")}>
      <bdi>{toVisibleText(value)}</bdi>
      {count > 1 && countText}
    </span>
  );
};
