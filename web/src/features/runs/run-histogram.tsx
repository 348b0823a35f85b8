import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useMemo } from "react";
import { isOffline } from "../../api/failure.ts";
import type { ChartSeries } from "../../components/chart/chart-data.ts";
import { Chart } from "../../components/chart/chart.tsx";
import { toUrlRange } from "../../components/time/time-range.ts";
import type { UrlTimes } from "../../components/time/time-range.ts";
import { formatTime } from "../../components/time/time.ts";
import { createRunCountsQuery } from "./queries.ts";
import type { RunCounts, RunCountsQuery } from "./queries.ts";

/** A chart of the number of matching runs over time. Dragging across the chart selects a time range. */
export const RunHistogram = ({
  onTimes,
  ...query
}: RunCountsQuery & { readonly onTimes: (times: UrlTimes) => void }) => {
  const counts = useQuery(createRunCountsQuery(query));
  const { error } = counts;
  // Creating the chart takes longer than a frame. Defer the data, so that React draws the chart in a separate render.
  const data = useDeferredValue(counts.data);
  // Keep the same array while the data is the same. Otherwise each page of runs that arrives would redraw the chart.
  const series = useMemo(() => toSeries(data), [data]);
  if (error !== null) {
    // Show no message if the connection is lost, because the banner explains that.
    return <p className="histogram-note bad">{isOffline(error) ? "" : error.message}</p>;
  }
  if (data === undefined || data.bucketStarts.length === 0) {
    return (
      <p className="histogram-note">{data === undefined ? "" : "No runs in this time range"}</p>
    );
  }
  return (
    <Chart
      label={toHistogramLabel(query, data.countedFromMs)}
      positions={data.bucketStarts}
      series={series}
      range={data.range}
      height={84}
      onSelect={(from, to) => onTimes(toUrlRange(from, to))}
    />
  );
};

const toSeries = (counts: RunCounts | undefined): readonly ChartSeries[] => [
  { label: "Failed", values: counts?.failed ?? [], color: "--bad", kind: "stack" },
  { label: "OK", values: counts?.succeeded ?? [], color: "--accent", kind: "stack" },
];

/** Returns a label that names what is counted and, if counting all runs took too long, how far back the counts go. */
function toHistogramLabel(
  { isRootOnly, filter }: RunCountsQuery,
  countedFromMs: number | undefined,
): string {
  const label = `${filter === "" ? "" : "Matching "}${isRootOnly ? "traces" : "runs"} over time`;
  const capitalizedLabel = label.charAt(0).toUpperCase() + label.slice(1);
  return countedFromMs === undefined
    ? capitalizedLabel
    : `${capitalizedLabel}, counted back to ${formatTime(countedFromMs).slice(0, 16)}`;
}
