import { expect, test } from "vitest";
import { countSlowestRuns } from "../../../src/features/trace/use-trace-view.ts";

test("a fifth of the runs is marked as slowest, ten at most, and not the only run of a trace", () => {
  expect([1, 2, 11, 1_000].map(countSlowestRuns)).toEqual([0, 1, 3, 10]);
});
