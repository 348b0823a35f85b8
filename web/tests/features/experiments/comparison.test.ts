import { describe, expect, test } from "vitest";
import {
  parseCompareSearch,
  parseIds,
  parseKeys,
} from "../../../src/features/experiments/comparison/compare-search.ts";
import {
  parseComparison,
  toErrorLine,
} from "../../../src/features/experiments/comparison/comparison.ts";
import {
  findUnfinishedIds,
  parseComparedExperiments,
} from "../../../src/features/experiments/experiment.ts";
import { formatWinRate, toScoreChange } from "../../../src/features/experiments/score-change.ts";

const id = "01a20025-2cae-71af-a91e-cf2295203e3a";
const other = "01a20025-2cae-71af-a91e-cf2295203e3b";

describe("a score", () => {
  test("compared to the baseline has an arrow and a sign for its direction; the key decides which direction is better", () => {
    expect(toScoreChange(0.5, 0.75, false)).toEqual({ kind: "better", text: "▲ +0.25" });
    expect(toScoreChange(0.5, 0.75, true)).toEqual({ kind: "worse", text: "▲ +0.25" });
    expect(toScoreChange(1, 0, false)).toEqual({ kind: "worse", text: "▼ −1" });
    expect(toScoreChange(0.3, 0.1 + 0.2, false)).toEqual({ kind: "same", text: "=" });
    expect(toScoreChange(0.5, 0.50034, false)).toEqual({ kind: "better", text: "▲ +0.0003" });
    expect(toScoreChange(undefined, 1, false)).toBeUndefined();
  });

  test("has a win rate over the examples that differ, and none if all are equal", () => {
    expect(formatWinRate(2, 1)).toBe("67 %");
    expect(formatWinRate(0, 0)).toBe("–");
  });
});

describe("the URL of a comparison", () => {
  test("keeps valid ids and drops others; the baseline is one of them", () => {
    const search = {
      experiments: `${id},x,${other},${id}`,
      baseline: other,
      only: "errors",
      key: 7,
    };
    expect(parseCompareSearch(search)).toEqual({
      experiments: `${id},${other}`,
      baseline: other,
      only: "errors",
      key: "7",
    });
    expect(parseCompareSearch({ experiments: id, baseline: other, order: "up" })).toEqual({
      experiments: id,
    });
  });

  test("contains at most 20 experiments", () => {
    const many = Array.from({ length: 30 }, (_, index) => id.slice(0, -2) + String(10 + index));
    expect(parseIds(many.join(","))).toHaveLength(20);
    expect(parseKeys("a,,b")).toEqual(["a", "b"]);
    expect(parseKeys(undefined)).toEqual([]);
  });
});

test("a response with missing members is parsed; one without ids is rejected", () => {
  const run = { id, trace_id: id, has_error: true, error: { text: '"late\\n at x', chars: 90 } };
  const row = {
    example_id: id,
    example: null,
    scores: { [id]: { a: 1, b: null } },
    runs: { [id]: [run] },
  };
  const page = parseComparison({
    total: 3,
    matching: 1,
    experiments: [{ id }],
    keys: [],
    rows: [row],
  });
  expect(page.rows[0]?.scores).toEqual({ [id]: { a: 1 } });
  expect(page.rows[0]?.runs[id]?.[0]).toMatchObject({
    hasError: true,
    outputs: undefined,
    latencyMs: undefined,
  });
  expect(toErrorLine(page.rows[0]?.runs[id]?.[0]?.error)).toBe("late");
  expect(toErrorLine(undefined)).toBe("failed");
  expect(() => parseComparison({ rows: [{}] })).toThrow('no text "example_id"');
});

describe("the compared experiments", () => {
  const now = Date.parse("2026-01-02T12:00:00Z");
  const lastRuns = new Map([[id, now - 60_000]]);
  const experiment = (fields: object) => ({ id, name: "first", end_time: null, ...fields });

  test("are running until each has an end", () => {
    const running = experiment({ start_time: "2026-01-02T11:00:00" });
    const ended = experiment({
      start_time: "2026-01-02T11:00:00",
      end_time: "2026-01-02T11:30:00",
    });
    expect(parseComparedExperiments([running, ended], { nowMs: now, lastRuns })).toEqual({
      names: new Map([[id, "first"]]),
      starts: new Map([[id, Date.parse("2026-01-02T11:00:00Z")]]),
      runningIds: [id],
    });
    expect(parseComparedExperiments([ended], { nowMs: now, lastRuns }).runningIds).toEqual([]);
  });

  test("are not running if no run started for ten minutes, although they have no end", () => {
    const running = experiment({ start_time: "2026-01-02T11:00:00" });
    const isRunning = (last: number | undefined): boolean =>
      parseComparedExperiments([running], {
        nowMs: now,
        lastRuns: new Map(last === undefined ? [] : [[id, last]]),
      }).runningIds.length > 0;
    expect([now - 599_000, now - 601_000, undefined].map(isRunning)).toEqual([true, false, false]);
    expect(findUnfinishedIds([running], now)).toEqual([id]);
  });

  test("are not running because another one started a run", () => {
    const running = experiment({ start_time: "2026-01-02T11:00:00" });
    const quiet = { ...running, id: other };
    expect(parseComparedExperiments([running, quiet], { nowMs: now, lastRuns }).runningIds).toEqual(
      [id],
    );
  });

  test("are not running if they began more than a day ago", () => {
    const abandoned = experiment({ start_time: "2026-01-01T11:00:00" });
    expect(parseComparedExperiments([abandoned], { nowMs: now, lastRuns }).runningIds).toEqual([]);
  });
});
