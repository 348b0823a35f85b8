import { expect, test } from "vitest";
import {
  describeSeries,
  findOnlyReference,
  findSeriesAt,
  formatCount,
  stackSeries,
  toTimeLabels,
  isLabelInside,
} from "../../../src/components/chart/chart-data.ts";

const stack = (label: string, values: readonly (number | null)[]) =>
  ({ label, values, color: "--accent", kind: "stack" }) as const;

test("stacked series are drawn as sums, starting with the last series; a line is drawn unchanged", () => {
  const line = { label: "rate", values: [9, 9, 9], color: "--bad" } as const;
  expect(stackSeries([stack("a", [1, 2, null]), line, stack("b", [10, null, null])])).toEqual([
    [11, 2, null],
    [9, 9, 9],
    [10, null, null],
  ]);
});

test("a chart is described by its last, lowest and highest values, or by their absence", () => {
  const series = [stack("runs", [3, 1, 7, null]), stack("errors", [null])];
  expect(describeSeries(series, formatCount)).toBe(
    "runs: last 7, lowest 1, highest 7. errors: no values.",
  );
});

test.each([
  [0, "0"],
  [0.0234, "0.023"],
  [7.5, "7.5"],
  [1_200, "1,200"],
  [34_000, "34K"],
  [1_230_000, "1.23M"],
])("%d is shown as %s", (value, text) => {
  expect(formatCount(value)).toBe(text);
});

test("a time axis names the day at midnight, and only days if its ticks are days apart", () => {
  const at = (day: number, hour: number, minute = 0): number =>
    new Date(2026, 2, day, hour, minute).getTime();
  const hourMs = 3_600_000;
  expect(toTimeLabels([at(1, 12), at(2, 0), at(2, 12), at(3, 0)], 12 * hourMs)).toEqual([
    "12:00",
    "Mar 2",
    "12:00",
    "Mar 3",
  ]);
  expect(toTimeLabels([at(1, 0), at(2, 0)], 24 * hourMs)).toEqual(["Mar 1", "Mar 2"]);
  expect(toTimeLabels([at(1, 9, 30)], 60_000)).toEqual(["09:30"]);
});

test("a label that would reach beyond the plot is left out", () => {
  const plotWidth = 600;
  for (const [center, isInside] of [
    [0, false],
    [20, true],
    [300, true],
    [580, true],
    [598, false],
  ] as const) {
    expect(isLabelInside({ center, width: 50 }, plotWidth)).toBe(isInside);
  }
});

test("Enter picks a reference only if no other series has a value", () => {
  const reference = { label: "before", color: "--ink-2", kind: "reference" as const, values: [5] };
  const line = { label: "now", color: "--accent", values: [1] };
  expect(findOnlyReference([line, reference], 0)).toBeUndefined();
  expect(findOnlyReference([{ ...line, values: [0] }, reference], 0)).toBe(1);
  expect(findOnlyReference([{ ...line, values: [null] }, reference], 0)).toBe(1);
  expect(findOnlyReference([line], 1)).toBeUndefined();
});

test("a click picks a reference that is close to it, or nearer than a line where no bar is", () => {
  const reference = { label: "before", color: "--ink-2", kind: "reference" as const, values: [5] };
  expect(findSeriesAt([reference], 0, { value: 5 })).toBe(0);
  const line = { label: "now", color: "--accent", values: [1] };
  expect(findSeriesAt([line, reference], 0, { value: 4 })).toBe(1);
  expect(findSeriesAt([line, reference], 0, { value: 2 })).toBe(0);
  const bar = { label: "now", color: "--accent", kind: "bars" as const, values: [6] };
  expect(findSeriesAt([bar, reference], 0, { value: 5 })).toBe(1);
  expect(findSeriesAt([bar, reference], 0, { value: 4 })).toBe(0);
  // The reference is drawn over the bar, so a click close to it means the reference.
  expect(findSeriesAt([bar, reference], 0, { value: 4, closeness: 1 })).toBe(1);
  expect(findSeriesAt([bar, { ...reference, values: [0] }], 0, { value: 0, closeness: 1 })).toBe(0);
  expect(findSeriesAt([{ ...bar, values: [0] }, reference], 0, { value: 2 })).toBe(1);
});
