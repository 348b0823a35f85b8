import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  findCriticalPath,
  findFailedRuns,
  computeSelfTimes,
  findSlowest,
} from "../../../src/features/trace/trace-facts.ts";
import { modelOf, numbersOf } from "../../support/trace.ts";
import type { Item } from "../../support/trace.ts";

const pathOf = (items: readonly Item[], now = 0) => {
  const model = modelOf(items);
  return findCriticalPath(model, now).map(({ run, from, to }) => [
    numbersOf(model, [run])[0],
    from,
    to,
  ]);
};

describe("the critical path", () => {
  test("it is followed backwards from the end, through the child that ended last", () => {
    const path = pathOf([
      { id: 1, start: 0, end: 100 },
      { id: 2, parent: 1, start: 10, end: 40 },
      { id: 3, parent: 1, start: 15, end: 60 },
      { id: 4, parent: 1, start: 70, end: 90 },
    ]);
    expect(path).toEqual([
      [1, 90, 100],
      [4, 70, 90],
      [1, 60, 70],
      [3, 15, 60],
      [1, 0, 15],
    ]);
  });

  test("a child that outlives its parent counts as ending with it", () => {
    const path = pathOf([
      { id: 1, start: 0, end: 50 },
      { id: 2, parent: 1, start: 20, end: 500 },
    ]);
    expect(path).toEqual([
      [2, 20, 50],
      [1, 0, 20],
    ]);
  });

  test("open runs end now, and runs that end before they start take no time", () => {
    const path = pathOf(
      [
        { id: 1, start: 0, end: null },
        { id: 2, parent: 1, start: 30, end: 20 },
        { id: 3, parent: 1, start: 40, end: null },
      ],
      100,
    );
    expect(path).toEqual([
      [3, 40, 100],
      [1, 0, 40],
    ]);
  });

  test("it is empty without runs", () => {
    expect(pathOf([])).toEqual([]);
  });

  const times = fc.record({
    parent: fc.nat(),
    start: fc.integer({ min: 0, max: 1_000 }),
    length: fc.integer({ min: -50, max: 500 }),
  });

  test("its segments cover the root's time once, from the end back to the start", () => {
    fc.assert(
      fc.property(fc.array(times, { maxLength: 30 }), (children) => {
        const items: Item[] = [{ id: 0, start: 0, end: 1_000 }];
        children.forEach(({ parent, start, length }, index) => {
          items.push({ id: index + 1, parent: parent % (index + 1), start, end: start + length });
        });
        const path = findCriticalPath(modelOf(items), 0);
        let at = 1_000;
        for (const { from, to } of path) {
          expect(to).toBe(at);
          expect(from).toBeLessThan(to);
          at = from;
        }
        expect(at).toBe(0);
      }),
    );
  });
});

describe("time statistics", () => {
  test("a run's self time is the time that its children do not cover, with overlaps counted once", () => {
    const model = modelOf([
      { id: 1, start: 0, end: 100 },
      { id: 2, parent: 1, start: 10, end: 50 },
      { id: 3, parent: 1, start: 40, end: 60 },
      { id: 4, parent: 1, start: 90, end: 500 },
    ]);
    expect([...computeSelfTimes(model, 0)]).toEqual([40, 40, 20, 410]);
  });

  test("the slowest runs are those with the most self time", () => {
    const selfTimes = Float64Array.from([5, 9, 0, 7, 9, 1]);
    expect(findSlowest(selfTimes, 3)).toEqual([1, 4, 3]);
    expect(findSlowest(selfTimes, 10)).toEqual([1, 4, 3, 0, 5]);
  });

  test("errors come in tree order", () => {
    const model = modelOf([
      { id: 1 },
      { id: 3, parent: 1, start: 9, failed: true },
      { id: 2, parent: 1, start: 5, failed: true },
    ]);
    expect(numbersOf(model, findFailedRuns(model))).toEqual([2, 3]);
  });
});
