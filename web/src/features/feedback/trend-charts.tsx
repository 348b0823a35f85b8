import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { formatCount } from "../../components/chart/chart-data.ts";
import type { ChartSeries } from "../../components/chart/chart-data.ts";
import { Chart } from "../../components/chart/chart.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import type { ProjectAddress } from "../runs/run-list-search.ts";
import type { FeedbackTrend } from "./feedback.ts";
import type { FeedbackPeriod } from "./queries.ts";

/** Colors of the values in the chart, in the order of the values. */
const valueColors = [
  "--type-llm",
  "--type-tool",
  "--type-retriever",
  "--type-parser",
  "--type-prompt",
  "--type-embedding",
  "--busy",
  "--type-chain",
];

/**
 * Charts for one feedback key: mean, p10 and p90 of its scores over time, their distribution, and counts of its values.
 * A click on a point, or the Enter key, selects its period. Each step of the distribution links to the runs with such a
 * score.
 */
export const TrendCharts = ({
  trend,
  address,
  onPeriod,
}: {
  readonly trend: FeedbackTrend;
  readonly address: ProjectAddress;
  readonly onPeriod: (period: FeedbackPeriod) => void;
}) => {
  const { bucketCentersMs, stepMs, range, scores, values } = useMemo(
    () => toCharts(trend),
    [trend],
  );
  const pickBucket = (index: number): void => {
    const fromMs = trend.fromMs + stepMs * index;
    onPeriod({ fromMs, toMs: fromMs + stepMs });
  };
  return (
    <div className="feedback-charts">
      {scores !== undefined && (
        <>
          <Chart
            label={`Scores: ${toVisibleText(trend.key)}`}
            positions={bucketCentersMs}
            range={range}
            series={scores}
            onPick={pickBucket}
          />
          <Histogram trend={trend} address={address} />
        </>
      )}
      {values !== undefined && (
        <Chart
          label={`Values: ${toVisibleText(trend.key)}`}
          positions={bucketCentersMs}
          range={range}
          series={values}
          onPick={pickBucket}
        />
      )}
      {scores === undefined && values === undefined && (
        <p className="form-about">
          This key has only comments and corrections. See the list below.
        </p>
      )}
      {!trend.isComplete && (
        <p className="form-about">
          The charts are incomplete, because only the latest 20,000 feedback entries of all projects
          were read.
        </p>
      )}
    </div>
  );
};

function toCharts({ fromMs, toMs, buckets, values, histogram }: FeedbackTrend) {
  const stepMs = (toMs - fromMs) / buckets.length;
  const scores: readonly ChartSeries[] = [
    { label: "p90", color: "--ink-2", values: buckets.map(({ p90 }) => p90) },
    { label: "mean", color: "--accent", values: buckets.map(({ mean }) => mean) },
    { label: "p10", color: "--ink-2", values: buckets.map(({ p10 }) => p10) },
  ];
  const valueSeries = values.map((value, index): ChartSeries => ({
    label: toVisibleText(value.slice(0, 60)),
    color: valueColors[index] ?? "--ink-2",
    kind: "stack",
    values: buckets.map((bucket) => bucket.values[value] ?? 0),
  }));
  return {
    bucketCentersMs: buckets.map((_, index) => fromMs + stepMs * (index + 0.5)),
    stepMs,
    range: [fromMs, toMs] as const,
    scores: histogram.length === 0 ? undefined : scores,
    values: valueSeries.length === 0 ? undefined : valueSeries,
  };
}

/** Returns the filter for the runs with a score in a step of the distribution, which may consist of a single score. */
function toScoreFilter(
  key: string,
  {
    from,
    to,
    includesEnd,
  }: { readonly from: number; readonly to: number; readonly includesEnd: boolean },
): string {
  const keyCondition = `eq(feedback_key, ${JSON.stringify(key)})`;
  return from === to
    ? `and(${keyCondition}, eq(feedback_score, ${from}))`
    : `and(${keyCondition}, gte(feedback_score, ${from}), ${includesEnd ? "lte" : "lt"}(feedback_score, ${to}))`;
}

const Histogram = ({
  trend: { key, histogram: steps },
  address,
}: {
  readonly trend: Pick<FeedbackTrend, "key" | "histogram">;
  readonly address: ProjectAddress;
}) => {
  const maxCount = steps.reduce((highest, { n }) => Math.max(highest, n), 1);
  return (
    <table className="feedback-histogram">
      <caption>Score distribution</caption>
      <tbody>
        {steps.map(({ from, to, n }, index) => {
          const target = {
            to: "/o/$tenantId/projects/p/$projectId",
            params: address,
            search: {
              all: true,
              filter: toScoreFilter(key, { from, to, includesEnd: index === steps.length - 1 }),
            },
            title: "Runs with a score in this range, from any time",
          } as const;
          return (
            <tr key={from}>
              <th scope="row">
                <Link {...target}>
                  {from === to ? formatCount(from) : `${formatCount(from)} – ${formatCount(to)}`}
                </Link>
              </th>
              <td aria-label={`${Math.round((n / maxCount) * 100)} % of the highest count`}>
                <Link {...target} aria-hidden="true" tabIndex={-1}>
                  <span className="feedback-bar" style={{ width: `${(n / maxCount) * 100}%` }} />
                </Link>
              </td>
              <td className="number">{n.toLocaleString("en")}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
};
