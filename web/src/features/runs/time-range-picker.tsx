import { Button, NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Chart } from "../../components/chart/chart.tsx";
import { formatTime } from "../../components/time/time.ts";
import { createRunCountsQuery } from "./queries.ts";
import type { RunCountsQuery } from "./queries.ts";
import type { RunListSearch } from "./run-list-search.ts";
import { isPreset, timePresets, toUrlRange, toDateTimeInputValue } from "./time-range.ts";

type TimeRangeSearch = Pick<RunListSearch, "last" | "from" | "to">;

interface TimeRangePickerProps {
  readonly times: TimeRangeSearch;
  readonly onTimes: (times: TimeRangeSearch) => void;
}

/** Selects the time range of the list: a predefined range that ends now, or a custom range. */
export const TimeRangePicker = ({ times, onTimes }: TimeRangePickerProps) => {
  const isCustomRange = times.from !== undefined || times.to !== undefined;
  const setRangeEnd = (end: "from" | "to", text: string): void => {
    const date = new Date(text);
    const { [end]: _previous, last: _last, ...others } = times;
    onTimes(Number.isNaN(date.getTime()) ? others : { ...others, [end]: date.toISOString() });
  };
  return (
    <>
      <NativeSelect
        className="quick-choice"
        aria-label="Time range"
        value={isCustomRange ? "custom" : (times.last ?? "")}
        onChange={({ target: { value } }) => {
          if (value === "custom") {
            onTimes({ from: new Date(Date.now() - timePresets["1d"].ms).toISOString() });
          } else {
            onTimes(isPreset(value) ? { last: value } : {});
          }
        }}
      >
        <option value="">All time</option>
        {Object.entries(timePresets).map(([name, { label }]) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
        <option value="custom">Custom range</option>
      </NativeSelect>
      {isCustomRange && (
        <span className="time-between">
          <input
            type="datetime-local"
            className="control"
            aria-label="Start of the time range"
            step="1"
            value={toDateTimeInputValue(times.from)}
            onChange={({ target }) => setRangeEnd("from", target.value)}
          />
          –
          <input
            type="datetime-local"
            className="control"
            aria-label="End of the time range"
            step="1"
            value={toDateTimeInputValue(times.to)}
            onChange={({ target }) => setRangeEnd("to", target.value)}
          />
          <Button size="compact-xs" variant="subtle" onClick={() => onTimes({})}>
            All time
          </Button>
        </span>
      )}
    </>
  );
};

/** The number of matching runs over time. Dragging across it selects the time range. */
export const RunHistogram = ({
  onTimes,
  ...query
}: RunCountsQuery & { readonly onTimes: (times: TimeRangeSearch) => void }) => {
  const { data, error } = useQuery(createRunCountsQuery(query));
  if (error !== null) {
    return <p className="histogram-note bad">{error.message}</p>;
  }
  if (data === undefined || data.bucketStarts.length === 0) {
    return (
      <p className="histogram-note">{data === undefined ? "" : "No runs in this time range"}</p>
    );
  }
  return (
    <Chart
      label={toHistogramLabel(query, data.countedToMs)}
      positions={data.bucketStarts}
      series={[
        { label: "Failed", values: data.failed, color: "--bad", kind: "stack" },
        { label: "OK", values: data.succeeded, color: "--accent", kind: "stack" },
      ]}
      range={data.range}
      height={84}
      restingValue="total"
      onSelect={(from, to) => onTimes(toUrlRange(from, to))}
    />
  );
};

/** Names what is counted. If counting all runs took too long, says how far back the counts go. */
function toHistogramLabel(
  { isRootOnly, filter }: RunCountsQuery,
  countedToMs: number | undefined,
): string {
  const label = `${filter === "" ? "" : "Matching "}${isRootOnly ? "traces" : "runs"} over time`;
  const capitalized = label.charAt(0).toUpperCase() + label.slice(1);
  return countedToMs === undefined
    ? capitalized
    : `${capitalized}, counted back to ${formatTime(countedToMs).slice(0, 16)}`;
}
