import { expect, test } from "vitest";
import { chooseBaseline } from "../../../src/features/experiments/baseline.ts";

const starts = new Map([
  ["new", 30],
  ["old", 10],
  ["middle", 20],
]);

test("the baseline is the pinned experiment, or else the oldest one", () => {
  expect(chooseBaseline(["new", "middle", "old"], "", starts)).toBe("old");
  expect(chooseBaseline(["new", "middle", "old"], "middle", starts)).toBe("middle");
  expect(chooseBaseline(["new", "middle"], "old", starts)).toBe("middle");
  expect(chooseBaseline(["unknown", "new"], "", starts)).toBe("new");
  expect(chooseBaseline([], "", starts)).toBe("");
});
