import { expect, test } from "vitest";
import {
  describeSeries,
  formatCount,
  stackSeries,
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
