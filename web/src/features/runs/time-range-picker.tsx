import { Button, NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Chart } from "../../components/chart/chart.tsx";
import { runCountsQuery } from "./queries.ts";
import type { RunListSearch } from "./run-list-search.ts";
import { isPreset, timePresets, toBrushed, toLocalInput } from "./time-range.ts";
import type { TimeRange } from "./time-range.ts";

type Times = Pick<RunListSearch, "last" | "from" | "to">;

interface Props {
  readonly times: Times;
  readonly onTimes: (times: Times) => void;
}

/** The stretch of time that is listed: one that ends now, or between two moments. */
export const TimeRangePicker = ({ times, onTimes }: Props) => {
  const isAbsolute = times.from !== undefined || times.to !== undefined;
  const set = (end: "from" | "to", text: string): void => {
    const at = new Date(text);
    const { [end]: _gone, last: _last, ...rest } = times;
    onTimes(Number.isNaN(at.getTime()) ? rest : { ...rest, [end]: at.toISOString() });
  };
  return (
    <>
      <NativeSelect
        className="quick-choice"
        aria-label="Time"
        value={isAbsolute ? "between" : (times.last ?? "")}
        onChange={({ target: { value } }) => {
          if (value === "between") {
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
        <option value="between">Between …</option>
      </NativeSelect>
      {isAbsolute && (
        <span className="time-between">
          <input
            type="datetime-local"
            className="control"
            aria-label="From"
            step="1"
            value={toLocalInput(times.from)}
            onChange={({ target }) => set("from", target.value)}
          />
          –
          <input
            type="datetime-local"
            className="control"
            aria-label="To"
            step="1"
            value={toLocalInput(times.to)}
            onChange={({ target }) => set("to", target.value)}
          />
          <Button size="compact-xs" variant="subtle" onClick={() => onTimes({})}>
            All time
          </Button>
        </span>
      )}
    </>
  );
};

/** How many runs began when; brushing it chooses the time. Of all runs, whatever the filter. */
export const RunHistogram = ({
  projectId,
  isRoot,
  range,
  onTimes,
}: {
  readonly projectId: string;
  readonly isRoot: boolean;
  readonly range: TimeRange;
  readonly onTimes: (times: Times) => void;
}) => {
  const { data, error } = useQuery(runCountsQuery(projectId, isRoot, range));
  if (error !== null) {
    return <p className="histogram-note bad">{error.message}</p>;
  }
  if (data === undefined || data.at.length === 0) {
    return <p className="histogram-note">{data === undefined ? "" : "Nothing in this time."}</p>;
  }
  return (
    <Chart
      label={
        isRoot ? "Traces over time, whatever the filter" : "Runs over time, whatever the filter"
      }
      at={data.at}
      series={[
        { label: "Failed", values: data.failed, color: "--bad", kind: "stack" },
        { label: "Others", values: data.succeeded, color: "--accent", kind: "stack" },
      ]}
      range={data.range}
      height={84}
      onSelect={(from, to) => onTimes(toBrushed(from, to))}
    />
  );
};
