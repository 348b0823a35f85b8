import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RunSummary } from "../../src/lib/run.ts";
import { toTraceRows } from "../../src/lib/trace-rows.ts";
import { makeRun } from "../support/run.ts";

const shapeOf = (runs: readonly RunSummary[]): readonly string[] =>
  toTraceRows(runs, 100).rows.map(({ run, depth }) => "  ".repeat(depth) + run.id);

describe("order", () => {
  test("children follow their parent, siblings as they are given", () => {
    const runs = [
      makeRun("root"),
      makeRun("a", { parentRunId: "root" }),
      makeRun("b", { parentRunId: "root" }),
      makeRun("a1", { parentRunId: "a" }),
      makeRun("b1", { parentRunId: "b" }),
    ];
    expect(shapeOf(runs)).toEqual(["root", "  a", "    a1", "  b", "    b1"]);
  });

  test("a run whose parent has not arrived stands at the top, its children below it", () => {
    const runs = [makeRun("lost", { parentRunId: "gone" }), makeRun("x", { parentRunId: "lost" })];
    expect(shapeOf(runs)).toEqual(["lost", "  x"]);
  });

  test("runs that are one another's parents are shown once each", () => {
    const runs = [makeRun("a", { parentRunId: "b" }), makeRun("b", { parentRunId: "a" })];
    expect(shapeOf(runs)).toEqual(["a", "  b"]);
  });

  test("every run has one row, whatever the parents say", () => {
    const anyRuns = fc.array(fc.option(fc.nat(40), { nil: undefined }), { maxLength: 40 });
    fc.assert(
      fc.property(anyRuns, (parents) => {
        const runs = parents.map((parent, index) =>
          makeRun(String(index), parent === undefined ? {} : { parentRunId: String(parent) }),
        );
        const ids = toTraceRows(runs, 0).rows.map(({ run }) => run.id);
        expect(ids.toSorted()).toEqual(runs.map(({ id }) => id).toSorted());
      }),
    );
  });

  test("a chain of 10,000 runs does not exhaust the call stack", () => {
    const runs = Array.from({ length: 10_000 }, (_, index) =>
      makeRun(String(index), index === 0 ? {} : { parentRunId: String(index - 1) }),
    );
    expect(toTraceRows(runs, 0).rows.at(-1)?.depth).toBe(9_999);
  });
});

describe("time scale", () => {
  test("bars lie between the first start and the last end", () => {
    const runs = [
      makeRun("root", { startMs: 1_000, endMs: 1_200 }),
      makeRun("a", { parentRunId: "root", startMs: 1_050, endMs: 1_150 }),
    ];
    const { rows, startMs, spanMs } = toTraceRows(runs, 9_999);
    expect({ startMs, spanMs }).toEqual({ startMs: 1_000, spanMs: 200 });
    expect(rows[1]).toMatchObject({ offset: 0.25, share: 0.5, durationMs: 100 });
  });

  test("an open run reaches until now", () => {
    const runs = [makeRun("root", { startMs: 0, endMs: undefined, status: "pending" })];
    expect(toTraceRows(runs, 500)).toMatchObject({ spanMs: 500, rows: [{ share: 1 }] });
  });

  test("a trace that took no time has whole bars", () => {
    expect(toTraceRows([makeRun("root", { endMs: 0 })], 0).rows[0]).toMatchObject({
      offset: 0,
      share: 1,
    });
  });

  test("no bar leaves the scale, even where an end is before its start", () => {
    const times = fc.tuple(fc.nat(1_000), fc.nat(1_000));
    fc.assert(
      fc.property(fc.array(times), (spans) => {
        const runs = spans.map(([startMs, endMs], index) =>
          makeRun(String(index), { startMs, endMs }),
        );
        const isOutside = toTraceRows(runs, 0).rows.some(
          ({ offset, share }) => offset < 0 || share < 0 || offset + share > 1.000_001,
        );
        expect(isOutside).toBe(false);
      }),
    );
  });

  test("no runs make no rows and no time", () => {
    expect(toTraceRows([], 5)).toEqual({ rows: [], startMs: 0, spanMs: 0 });
  });
});
