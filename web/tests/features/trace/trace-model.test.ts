import { describe, expect, test } from "vitest";
import { parseTraceColumns } from "../../../src/features/trace/trace-columns.ts";
import {
  computeEnd,
  growTrace,
  isBackwards,
  isGrowing,
  readStatus,
} from "../../../src/features/trace/trace-model.ts";
import {
  findCollapsedAncestors,
  findNextRun,
  toVisibleRuns,
} from "../../../src/features/trace/visible-runs.ts";
import type { TraceFilters } from "../../../src/features/trace/visible-runs.ts";
import { idOf, modelOf, numbersOf, toColumns } from "../../support/trace.ts";

const family = [
  { id: 1, start: 0, end: 100 },
  { id: 2, parent: 1, start: 10, end: 50, type: "llm" },
  { id: 3, parent: 2, start: 20, end: 30, type: "parser", failed: true },
  { id: 4, parent: 1, start: 60, end: null, type: "tool" },
];

const noFilters: TraceFilters = {
  collapsedIds: new Set(),
  collapsedTypes: new Set(),
  hiddenTypes: new Set(),
  areOnlyErrorsShown: false,
};

describe("the tree of a trace", () => {
  test("parents come before children, and siblings are sorted by start, whatever their order in the response", () => {
    const model = modelOf(family.toReversed());
    expect(numbersOf(model, model.order)).toEqual([1, 2, 3, 4]);
    expect([...model.order].map((run) => model.depths[run])).toEqual([0, 1, 2, 1]);
    expect([...model.order].map((run) => model.subtreeSizes[run])).toEqual([4, 2, 1, 1]);
  });

  test("a run whose parent is missing is at the top until the parent arrives", () => {
    const child = { id: 2, parent: 1, start: 5 };
    const before = modelOf([child]);
    expect([...before.parents]).toEqual([-1]);
    const after = growTrace(before, [toColumns([{ id: 1, start: 0 }])]);
    expect(numbersOf(after, after.order)).toEqual([1, 2]);
  });

  test("runs in a cycle of parents are each shown once", () => {
    const model = modelOf([
      { id: 1, parent: 2 },
      { id: 2, parent: 1 },
      { id: 3, parent: 3 },
    ]);
    expect(numbersOf(model, model.order).toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
    expect(toVisibleRuns(model, noFilters).runs).toHaveLength(3);
  });

  test("a chain deeper than the call stack is supported", () => {
    const items = Array.from({ length: 50_000 }, (_, id) =>
      id === 0 ? { id } : { id, parent: id - 1, start: id },
    );
    const model = modelOf(items);
    expect(model.depths[model.order.at(-1)!]).toBe(49_999);
  });

  test("changed runs replace earlier ones, and an empty page returns the same model", () => {
    const model = modelOf(family);
    expect(growTrace(model, [toColumns([])])).toBe(model);
    expect(isGrowing(model)).toBe(true);
    const ended = { id: 4, parent: 1, start: 60, end: 90, type: "tool", name: "done" };
    const grown = growTrace(model, [toColumns([ended, { id: 5, parent: 4, start: 70 }])]);
    expect(numbersOf(grown, grown.order)).toEqual([1, 2, 3, 4, 5]);
    expect(grown.names[3]).toBe("done");
    expect(isGrowing(grown)).toBe(false);
    expect(isGrowing(model)).toBe(true);
  });

  test("pages with different base times are aligned", () => {
    const later = toColumns([{ id: 2, parent: 1, start: 0, end: 10 }], 1_000);
    const model = growTrace(modelOf([{ id: 1, start: 0, end: 2_000 }]), [later]);
    expect([...model.starts]).toEqual([0, 1_000]);
    expect([...model.ends]).toEqual([2_000, 1_010]);
  });

  test("a run that ends before it starts has no duration and is marked; an open one ends now", () => {
    const model = modelOf([
      { id: 1, start: 50, end: 40 },
      { id: 2, start: 60, end: null },
    ]);
    expect([computeEnd(model, 0, 100), computeEnd(model, 1, 100)]).toEqual([50, 100]);
    expect([isBackwards(model, 0), isBackwards(model, 1)]).toEqual([true, false]);
    expect([readStatus(model, 0), readStatus(model, 1)]).toEqual(["success", "pending"]);
  });

  test("a response with columns of different lengths is rejected", () => {
    expect(() => parseTraceColumns({ count: 2, ids: idOf(1) })).toThrow("not a page of a trace");
  });
});

describe("the rows of a trace", () => {
  const shown = (filters: Partial<TraceFilters>) => {
    const model = modelOf(family);
    const { runs, depths } = toVisibleRuns(model, { ...noFilters, ...filters });
    return { runs: numbersOf(model, runs), depths: [...depths] };
  };

  test("the descendants of collapsed runs and types are not shown", () => {
    expect(shown({ collapsedIds: new Set([idOf(2)]) }).runs).toEqual([1, 2, 4]);
    expect(shown({ collapsedTypes: new Set(["llm"]) }).runs).toEqual([1, 2, 4]);
    expect(shown({ collapsedIds: new Set([idOf(1)]) }).runs).toEqual([1]);
  });

  test("runs of a hidden type are not shown, and their children move up", () => {
    expect(shown({ hiddenTypes: new Set(["llm"]) })).toEqual({
      runs: [1, 3, 4],
      depths: [0, 1, 1],
    });
    expect(shown({ hiddenTypes: new Set(["chain", "llm"]) }).depths).toEqual([0, 0]);
  });

  test("with errors only, failed runs and their ancestors are shown", () => {
    expect(shown({ areOnlyErrorsShown: true }).runs).toEqual([1, 2, 3]);
  });

  test("the collapsed ancestors of a run are found", () => {
    const model = modelOf(family);
    expect(findCollapsedAncestors(model, 2, new Set([idOf(1), idOf(4)]))).toEqual([idOf(1)]);
  });

  test("a step selects the next of the given runs, and wraps around at either end", () => {
    const model = modelOf(family);
    const step = (from: number, by: 1 | -1) => findNextRun(model, [3, 1], { from, by });
    expect([step(0, 1), step(1, 1), step(3, 1)]).toEqual([1, 3, 1]);
    expect([step(0, -1), step(1, -1), step(3, -1)]).toEqual([3, 3, 1]);
    expect(findNextRun(model, [], { from: 0, by: 1 })).toBeUndefined();
  });
});
