import { expect, test } from "vitest";
import { countLanes, toMinimapBars } from "../../../src/features/trace/minimap-bars.ts";
import { modelOf } from "../../support/trace.ts";

const size = { fullRange: { from: 0, to: 1_000 }, width: 100, laneCount: 4, now: 0 };

test("of runs that cover the same pixels only one is drawn, and errors are drawn last", () => {
  const items = Array.from({ length: 1_000 }, (_, at) => ({
    id: at + 1,
    parent: 0,
    start: at,
    end: at + 1,
    failed: at === 500,
  }));
  const bars = toMinimapBars(modelOf([{ id: 0, start: 0, end: 1_000 }, ...items]), size);
  expect(bars.length).toBeLessThan(220);
  expect(bars[0]).toMatchObject({ x: 0, width: 100, lane: 0 });
  expect(bars.at(-1)).toMatchObject({ x: 50, lane: 1, isError: true });
});

test("each depth has a lane, and deeper runs share the last one", () => {
  const chain = Array.from({ length: 30 }, (_, id) => (id === 0 ? { id } : { id, parent: id - 1 }));
  const model = modelOf(chain);
  expect(countLanes(model)).toBe(11);
  expect(countLanes(modelOf([{ id: 1 }]))).toBe(4);
  const lanes = toMinimapBars(model, size).map(({ lane }) => lane);
  expect(Math.max(...lanes)).toBe(3);
});
