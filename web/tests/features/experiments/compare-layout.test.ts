import { assert, double, integer, property } from "fast-check";
import { describe, expect, test } from "vitest";
import {
  toRowHeight,
  toVisibleColumns,
} from "../../../src/features/experiments/comparison/compare-layout.ts";
import type {
  ComparedRow,
  ComparedRun,
} from "../../../src/features/experiments/comparison/comparison.ts";

const run: ComparedRun = {
  id: "r",
  traceId: "r",
  hasError: false,
  latencyMs: undefined,
  tokens: undefined,
  outputs: undefined,
  error: undefined,
  scores: {},
};

const createRow = (scoreCount: number, runCount: number): ComparedRow => ({
  exampleId: "e",
  example: undefined,
  scores: {
    a: { one: 1 },
    b: Object.fromEntries(Array.from({ length: scoreCount }, (_, index) => [`key ${index}`, 1])),
  },
  runs: { a: [run], b: Array.from({ length: runCount }, () => run) },
});

describe("the columns of a comparison", () => {
  test("exist where they can be seen, and one on each side of them", () => {
    const columns = 20;
    expect(toVisibleColumns({ scrollLeft: 0, width: 1_100 }, columns)).toMatchObject({
      first: 0,
      last: 4,
    });
    expect(toVisibleColumns({ scrollLeft: 440, width: 1_100 }, columns)).toMatchObject({
      first: 1,
      last: 6,
    });
    expect(toVisibleColumns({ scrollLeft: 450, width: 1_100 }, columns)).toMatchObject({
      first: 1,
      last: 7,
    });
    expect(toVisibleColumns({ scrollLeft: 3_520, width: 1_100 }, columns)).toMatchObject({
      first: 15,
      last: 19,
    });
  });

  test("all exist if they fit, and wide ones show several scores in a line", () => {
    const columns = 2;
    expect(toVisibleColumns({ scrollLeft: 0, width: 1_500 }, columns)).toMatchObject({
      first: 0,
      last: 1,
      scoresPerLine: 3,
    });
    expect(toVisibleColumns({ scrollLeft: 0, width: 660 }, columns)).toMatchObject({
      scoresPerLine: 1,
    });
  });

  test("include every column that the first one does not cover, at any size and position", () => {
    assert(
      property(
        integer({ min: 1, max: 20 }),
        integer({ min: 0, max: 4_000 }),
        double({ min: 0, max: 1, noNaN: true }),
        (count, width, share) => {
          const { widths } = toVisibleColumns({ scrollLeft: 0, width }, count);
          const spare = Math.max(0, width - widths.first - count * widths.others) / (count + 1);
          const [firstWidth, columnWidth] = [widths.first + spare, widths.others + spare];
          const scrollLeft = share * Math.max(0, firstWidth + count * columnWidth - width);
          const { first, last, isStacked } = toVisibleColumns({ scrollLeft, width }, count);
          const seen = Array.from({ length: count }, (_, column) => column).filter((column) => {
            const left = firstWidth + column * columnWidth - scrollLeft;
            // A thousandth of a pixel is not seen.
            return left < width - 0.001 && left + columnWidth > firstWidth + 0.001;
          });
          expect(seen.filter((column) => column < first || column > last)).toEqual([]);
          expect(last - first).toBeLessThanOrEqual(isStacked ? count - 1 : width / columnWidth + 3);
        },
      ),
    );
  });

  test("are stacked in a narrow list if they do not fit next to each other", () => {
    const isStacked = (width: number, count: number): boolean =>
      toVisibleColumns({ scrollLeft: 0, width }, count).isStacked;
    // A phone, the list next to the panel in a window of 1,024 pixels, and a wide list.
    expect([isStacked(390, 1), isStacked(390, 2)]).toEqual([false, true]);
    expect([isStacked(521, 2), isStacked(521, 3)]).toEqual([false, true]);
    expect(isStacked(1_100, 20)).toBe(false);
  });
});

describe("the height of a row", () => {
  const readHeight = (row: ComparedRow, scoresPerLine: number, isStacked = false): number =>
    toRowHeight(row, { experimentIds: ["a", "b"], isStacked, scoresPerLine });

  test("holds the scores of the experiment with most of them", () => {
    expect(readHeight(createRow(1, 1), 1)).toBe(132);
    expect(readHeight(createRow(7, 1), 1)).toBe(76 + 8 * 18);
    expect(readHeight(createRow(7, 1), 3)).toBe(76 + 4 * 18);
  });

  test("has a line for the number of runs if an example was run several times", () => {
    expect(readHeight(createRow(7, 2), 1)).toBe(76 + 9 * 18);
  });

  test("holds all cells and the names of their experiments if they are stacked", () => {
    expect(readHeight(createRow(7, 1), 2, true)).toBe(96 + 2 * 24 + 76 + 2 * 18 + 76 + 5 * 18);
  });
});
