import { useMemo } from "react";
import { formatCount } from "../../components/chart/chart-data.ts";
import { toSeries } from "../../api/live-report.ts";
import type { Live } from "../../api/live-report.ts";
import { formatDuration } from "../../components/time/time.ts";
import { Chart } from "../../components/chart/chart.tsx";

const stepSeconds = 5;

/** The last five minutes as charts. */
export const LiveCharts = ({ live }: { readonly live: Live }) => {
  const { at, rate, latency } = useMemo(() => {
    const series = toSeries(live, stepSeconds);
    return {
      at: series.at,
      rate: [
        {
          label: "runs a second",
          color: "--accent",
          kind: "area" as const,
          values: series.steps.map(({ runsPerSecond }) => runsPerSecond),
        },
        {
          label: "failed traces a second",
          color: "--bad",
          values: series.steps.map(
            ({ traces, errorRate }) => (traces * (errorRate ?? 0)) / stepSeconds,
          ),
        },
      ],
      latency: [
        {
          label: "p50",
          color: "--accent",
          values: series.steps.map(({ p50Ms }) => p50Ms ?? null),
        },
        { label: "p99", color: "--busy", values: series.steps.map(({ p99Ms }) => p99Ms ?? null) },
      ],
    };
  }, [live]);
  return (
    <div className="home-charts">
      <Chart label="Arriving" at={at} series={rate} format={formatCount} />
      <Chart label="Latency of traces" at={at} series={latency} format={formatDuration} />
    </div>
  );
};
