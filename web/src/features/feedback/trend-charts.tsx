import { useMemo } from "react";
import { formatCount } from "../../components/chart/chart-data.ts";
import type { ChartSeries } from "../../components/chart/chart-data.ts";
import { Chart } from "../../components/chart/chart.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import type { FeedbackTrend } from "./feedback.ts";

/** One for each value that is listed. */
const colors = [
  "--type-llm",
  "--type-tool",
  "--type-retriever",
  "--type-parser",
  "--type-prompt",
  "--type-embedding",
  "--busy",
  "--type-chain",
];

/** Scores as a mean and a band, and how they are spread; values as counts. */
export const TrendCharts = ({ trend }: { readonly trend: FeedbackTrend }) => {
  const { at, range, scores, values } = useMemo(() => toCharts(trend), [trend]);
  return (
    <div className="feedback-charts">
      {scores !== undefined && (
        <>
          <Chart
            label={`Scores: ${toVisibleText(trend.key)}`}
            at={at}
            range={range}
            series={scores}
          />
          <Histogram steps={trend.histogram} />
        </>
      )}
      {values !== undefined && (
        <Chart
          label={`Values: ${toVisibleText(trend.key)}`}
          at={at}
          range={range}
          series={values}
        />
      )}
      {scores === undefined && values === undefined && (
        <p className="form-about">Comments and corrections only: they are in the list below.</p>
      )}
      {!trend.isComplete && (
        <p className="form-about">Of the latest 20,000 judgements of the server.</p>
      )}
    </div>
  );
};

function toCharts({ fromMs, toMs, buckets, values, histogram }: FeedbackTrend) {
  const stepMs = (toMs - fromMs) / buckets.length;
  const scores: readonly ChartSeries[] = [
    { label: "90 %", color: "--ink-2", values: buckets.map(({ p90 }) => p90) },
    { label: "mean", color: "--accent", values: buckets.map(({ mean }) => mean) },
    { label: "10 %", color: "--ink-2", values: buckets.map(({ p10 }) => p10) },
  ];
  const counts = values.map((value, index): ChartSeries => ({
    label: toVisibleText(value.slice(0, 60)),
    color: colors[index] ?? "--ink-2",
    kind: "stack",
    values: buckets.map((bucket) => bucket.values[value] ?? 0),
  }));
  return {
    at: buckets.map((_, index) => fromMs + stepMs * (index + 0.5)),
    range: [fromMs, toMs] as const,
    scores: histogram.length === 0 ? undefined : scores,
    values: counts.length === 0 ? undefined : counts,
  };
}

const Histogram = ({ steps }: { readonly steps: FeedbackTrend["histogram"] }) => {
  const most = steps.reduce((high, { n }) => Math.max(high, n), 1);
  return (
    <table className="feedback-histogram">
      <caption>How often each score was given</caption>
      <tbody>
        {steps.map(({ from, to, n }) => (
          <tr key={from}>
            <th scope="row">
              {from === to ? formatCount(from) : `${formatCount(from)} – ${formatCount(to)}`}
            </th>
            <td aria-label={`${Math.round((n / most) * 100)} % of the most`}>
              <span className="feedback-bar" style={{ width: `${(n / most) * 100}%` }} />
            </td>
            <td className="number">{n.toLocaleString("en")}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
};
