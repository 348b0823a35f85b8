import { expect, test } from "vitest";
import {
  pan,
  computeFullRange,
  toBar,
  toTicks,
  createWindow,
  zoom,
} from "../../../src/features/trace/time-scale.ts";
import { modelOf } from "../../support/trace.ts";

const hour = 3_600_000_000;
const fullRange = { from: 0, to: 1_000 };

test("a trace spans from its first start to its last end; open runs end now", () => {
  const model = modelOf([
    { id: 1, start: 10, end: 5 },
    { id: 2, start: 4, end: null },
  ]);
  expect(computeFullRange(model, 90)).toEqual({ from: 4, to: 90 });
  expect(computeFullRange(modelOf([]), 90)).toEqual({ from: 0, to: 1 });
  expect(computeFullRange(modelOf([{ id: 1, start: 7, end: 7 }]), 0)).toEqual({ from: 7, to: 8 });
});

test("a bar is clipped to the window, and one outside of it is not visible", () => {
  const window = { from: 100, to: 200 };
  expect(toBar(window, 150, 175)).toEqual({ left: 0.5, width: 0.25, isVisible: true });
  expect(toBar(window, 0, 400)).toEqual({ left: 0, width: 1, isVisible: true });
  expect(toBar(window, 10, 20).isVisible).toBe(false);
  expect(toBar({ from: 0, to: 10 * hour }, 5 * hour, 5 * hour + 1).width).toBeGreaterThan(0);
});

test("zooming keeps the time under the pointer and stays within the trace", () => {
  const near = zoom(fullRange, { factor: 0.5, around: 0.25, fullRange });
  expect(near).toEqual({ from: 125, to: 625 });
  expect(zoom(near, { factor: 100, around: 0.5, fullRange })).toEqual(fullRange);
  expect(zoom(fullRange, { factor: 1e-9, around: 1, fullRange })).toEqual({ from: 999, to: 1_000 });
});

test("panning stops at either end", () => {
  const window = { from: 100, to: 300 };
  expect(pan(window, 0.5, fullRange)).toEqual({ from: 200, to: 400 });
  expect(pan(window, -9, fullRange)).toEqual({ from: 0, to: 200 });
  expect(pan(window, 9, fullRange)).toEqual({ from: 800, to: 1_000 });
});

test("a window can be given by its ends in either order, and is never empty", () => {
  expect(createWindow(700, 200, fullRange)).toEqual({ from: 200, to: 700 });
  expect(createWindow(500, 500, fullRange)).toEqual({ from: 500, to: 501 });
});

test("ticks are round, whether a window is microseconds or hours", () => {
  expect(toTicks({ from: 0, to: 10 }, 5, 0)).toEqual([0, 2, 4, 6, 8, 10]);
  // Where only one round time has space, the end of the window gives the scale.
  expect(toTicks({ from: 0, to: 1_610_000 }, 1, 0)).toEqual([0, 1_610_000]);
  expect(toTicks({ from: 130, to: 260 }, 4, 100)).toEqual([150, 200, 250]);
  expect(toTicks({ from: 0, to: 3 * hour }, 4, 0)).toEqual([0, hour, 2 * hour, 3 * hour]);
  expect(toTicks({ from: 0, to: 40_000_000 }, 4, 0)).toEqual(
    [0, 10, 20, 30, 40].map((s) => s * 1e6),
  );
});
