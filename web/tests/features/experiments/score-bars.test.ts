import { expect, test } from "vitest";
import { toScoreBars } from "../../../src/features/experiments/score-bars.ts";

test("the bars of two experiments are side by side in each part of the range", () => {
  const { positions, values } = toScoreBars([{ bins: [10, 50] }, { bins: [20] }], {
    min: 0,
    max: 1,
    binCount: 2,
  });
  expect(values).toEqual([
    [10, null, 50, null],
    [null, 20, null, 0],
  ]);
  expect(positions.map((position) => Math.round(position * 100))).toEqual([15, 35, 65, 85]);
});
