import { SegmentedControl } from "@mantine/core";
import { isOverviewRange, overviewRanges } from "./overview-range.ts";
import type { OverviewRange } from "./overview-range.ts";

/** A control that selects the time range of all numbers on a page. */
export const OverviewRangeControl = ({
  range,
  onRange,
}: {
  readonly range: OverviewRange;
  readonly onRange: (range: OverviewRange) => void;
}) => (
  <SegmentedControl
    size="xs"
    aria-label="Time range"
    data={Object.entries(overviewRanges).map(([value, label]) => ({ value, label }))}
    value={range}
    onChange={(value) => {
      if (isOverviewRange(value)) {
        onRange(value);
      }
    }}
  />
);
