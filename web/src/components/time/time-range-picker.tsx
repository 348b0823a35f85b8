import { Button, NativeSelect } from "@mantine/core";
import { isPreset, pickTimes, timePresets, toDateTimeInputValue } from "./time-range.ts";
import type { TimePreset, TimeSelection, UrlTimes } from "./time-range.ts";
import "./time-range-picker.css";

/** The length of the custom range that the picker begins with. */
const firstCustomRange = timePresets["1d"];

/** Selects a time range: a predefined range that ends now, or a custom range. */
export const TimeRangePicker = ({
  times,
  defaultPreset,
  onTimes,
}: {
  readonly times: TimeSelection;
  /** The range that applies while the selection is empty. @defaultValue all time */
  readonly defaultPreset?: TimePreset;
  readonly onTimes: (times: UrlTimes) => void;
}) => {
  const isCustomRange = times.from !== undefined || times.to !== undefined;
  const setRangeEnd = (end: "from" | "to", text: string): void => {
    const date = new Date(text);
    const iso = Number.isNaN(date.getTime()) ? undefined : date.toISOString();
    onTimes(pickTimes({ from: times.from, to: times.to, [end]: iso }));
  };
  return (
    <>
      <NativeSelect
        className="time-choice"
        size="xs"
        aria-label="Time range"
        value={isCustomRange ? "custom" : (times.last ?? defaultPreset ?? "")}
        onChange={({ target: { value } }) => {
          if (value === "custom") {
            onTimes({ from: new Date(Date.now() - firstCustomRange.ms).toISOString() });
          } else {
            onTimes(isPreset(value) ? { last: value } : {});
          }
        }}
      >
        {defaultPreset === undefined && <option value="">All time</option>}
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
            {defaultPreset === undefined ? "All time" : timePresets[defaultPreset].label}
          </Button>
        </span>
      )}
    </>
  );
};
