import { expect, test } from "vitest";
import { formatDifference } from "../../../src/features/runs/compare-runs.tsx";

const format = String;

test("a difference and its share have a sign; equal and missing figures have no share", () => {
  expect(formatDifference(100, 81, format)).toBe("−19 (−19 %)");
  expect(formatDifference(100, 150, format)).toBe("+50 (+50 %)");
  expect(formatDifference(0, 5, format)).toBe("+5");
  expect(formatDifference(5, 5, format)).toBe("=");
  expect(formatDifference(undefined, 5, format)).toBe("");
});
