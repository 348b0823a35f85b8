import { describe, expect, test } from "vitest";
import {
  parseDashboardSearch,
  toDashboardTimes,
} from "../../../src/features/dashboard/dashboard-search.ts";
import { toPausedView, toLiveRows } from "../../../src/features/runs/live-rows.ts";
import {
  createFeedbackCondition,
  createMetadataCondition,
  findQuickValue,
  hasConditionOn,
  setQuickFilter,
} from "../../../src/features/runs/quick-filters/quick-filters.ts";
import { parseRunCounts } from "../../../src/features/runs/queries.ts";
import { parseRunItemPage } from "../../../src/features/runs/run-item.ts";
import { parseRunsSearch } from "../../../src/features/trace/project-search.ts";
import { timePresets, toUrlRange, toTimeRange } from "../../../src/components/time/time-range.ts";
import type { TimePreset } from "../../../src/components/time/time-range.ts";

const id = "00000000-0000-4000-8000-000000000001";
const other = "00000000-0000-4000-8000-000000000002";

describe("the URL of a list", () => {
  test("keeps valid parameters and drops others", () => {
    const search = { filter: "gt(latency, 5)", all: true, last: "1h", sort: "latency-desc" };
    expect(parseRunsSearch(search)).toEqual(search);
    expect(
      parseRunsSearch({ filter: " ", all: "yes", last: "eon", sort: "name", selected: ["x"] }),
    ).toEqual({});
  });

  test("compares two selected runs, and is kept while a trace is open", () => {
    const two = { selected: [id, other], compare: true };
    expect(parseRunsSearch(two)).toEqual(two);
    expect(parseRunsSearch({ selected: [id], compare: true })).toEqual({ selected: [id] });
    expect(parseRunsSearch({ filter: "x", trace: id })).toEqual({ filter: "x", trace: id });
  });

  test("has a range that ends now or a range with two ends, not both", () => {
    const from = "2026-03-01T12:00:00Z";
    expect(parseRunsSearch({ last: "1h", from })).toEqual({ last: "1h" });
    expect(parseRunsSearch({ from, to: "whenever" })).toEqual({ from });
  });

  test("has the same time range as the URL of a dashboard", () => {
    const [from, to] = ["2026-03-01T12:00:00Z", "2026-03-02T12:00:00Z"];
    for (const search of [{ last: "90d" }, { last: "15m" }, { from }, { from, to }, {}]) {
      expect(parseRunsSearch(search)).toEqual(parseDashboardSearch(search));
    }
  });
});

describe("a time range", () => {
  test("that ends now is the same a moment later", () => {
    const now = Date.parse("2026-03-01T12:00:30Z");
    expect(toTimeRange({ last: "1h" }, now)).toEqual(toTimeRange({ last: "1h" }, now + 1_000));
    expect(toTimeRange({ last: "1h" }, now).fromMs).toBe(Date.parse("2026-03-01T11:01:00Z"));
  });

  test.for(Object.keys(timePresets) as TimePreset[])(
    "of the last %s begins at the same time in the list and in the dashboard",
    (last) => {
      const now = Date.parse("2026-03-01T12:00:30Z");
      const { from } = toDashboardTimes({ last }, now);
      expect(toTimeRange({ last }, now).fromMs).toBe(Date.parse(from));
    },
  );

  test("that was dragged in the chart has ordered ends at whole seconds", () => {
    expect(toUrlRange(5_400, 1_600)).toEqual({
      from: "1970-01-01T00:00:01.000Z",
      to: "1970-01-01T00:00:06.000Z",
    });
  });
});

describe("quick filters", () => {
  test("set one condition for each field of the filter, and show its value", () => {
    const status = setQuickFilter("gt(tokens, 5)", {
      field: "status",
      comparator: "eq",
      value: "error",
    });
    expect(status).toBe('and(gt(tokens, 5), eq(status, "error"))');
    expect(findQuickValue(status, { field: "status", comparator: "eq" })).toBe("error");
    expect(setQuickFilter(status, { field: "status", comparator: "eq", value: "" })).toBe(
      "gt(tokens, 5)",
    );
  });

  test("show a value only if it is compared in the same way", () => {
    const find = (filter: string) =>
      findQuickValue(filter, { field: "latency", comparator: "gte" });
    expect(find('gte(latency, "1s")')).toBe("1s");
    expect(find('gt(latency, "1s")')).toBeUndefined();
    expect(find('in(latency, ["1s"])')).toBeUndefined();
    expect(find('and(gt(latency, "1s"), lt(latency, "5s"))')).toBeUndefined();
    expect(find('eq(status, "error")')).toBeUndefined();
  });

  test("are active while the filter has a condition on their field", () => {
    const isActive = (filter: string) => hasConditionOn(filter, (field) => field === "latency");
    expect(isActive('gt(latency, "1s")')).toBe(true);
    expect(isActive('and(eq(status, "error"), not(lt(latency, "1s")))')).toBe(true);
    expect(isActive("exists(latency)")).toBe(true);
    expect(isActive('eq(name, "latency")')).toBe(false);
    expect(isActive('and(eq(status, "error"), search("(latency, x)"))')).toBe(false);
    expect(isActive("")).toBe(false);
  });

  test("match a key that can't be a path by conditions on key and value", () => {
    expect(createMetadataCondition("user.id", "7")).toBe('eq(metadata.user.id, "7")');
    expect(createMetadataCondition("two words", "7")).toBe(
      'and(eq(metadata_key, "two words"), eq(metadata_value, "7"))',
    );
    expect(createFeedbackCondition("ok", "gte", 0.5)).toBe(
      'and(eq(feedback_key, "ok"), gte(feedback_score, 0.5))',
    );
    expect(createFeedbackCondition("ok", "gte", undefined)).toBe('eq(feedback_key, "ok")');
  });
});

describe("a live list", () => {
  const run = (name: string, startMs: number) => ({ id: name, startMs });
  const pages = [[run("c", 3), run("b", 2)], [run("a", 1)]];

  test("adds each new row once, at the top", () => {
    const newest = { items: [run("d", 4), run("c", 3)], hasMore: true };
    const { rows, hasGap } = toLiveRows({ pages, latestPoll: newest, pausedView: undefined });
    expect(rows.map((row) => row.id)).toEqual(["d", "c", "b", "a"]);
    expect(hasGap).toBe(false);
  });

  test("counts new rows while it is paused, and still appends older rows", () => {
    const paused = toPausedView(pages[0] ?? []);
    const newest = { items: [run("d", 4), run("late", 2.5), run("c", 3)], hasMore: false };
    const { rows, newCount } = toLiveRows({ pages, latestPoll: newest, pausedView: paused });
    expect(rows.map((row) => row.id)).toEqual(["c", "b", "a"]);
    expect(newCount).toBe(2);
  });

  test("has a gap if the newest page does not reach the loaded rows", () => {
    const newest = { items: [run("z", 9)], hasMore: true };
    expect(toLiveRows({ pages, latestPoll: newest, pausedView: undefined }).hasGap).toBe(true);
  });
});

describe("a list in another order", () => {
  const run = (name: string, startMs: number) => ({ id: name, startMs });

  test("keeps the order of the server's pages, and shows a run on two pages once", () => {
    const pages = [
      [run("slow", 2), run("slower", 9)],
      [run("slower", 9), run("fast", 5)],
    ];
    const { rows, newCount, hasGap } = toLiveRows({
      pages,
      latestPoll: undefined,
      pausedView: undefined,
    });
    expect(rows.map((row) => row.id)).toEqual(["slow", "slower", "fast"]);
    expect({ newCount, hasGap }).toEqual({ newCount: 0, hasGap: false });
  });

  test("keeps the server's order of runs with the same start, when live", () => {
    const newest = { items: [run("a", 4), run("b", 4)], hasMore: false };
    const { rows } = toLiveRows({
      pages: [[run("z", 3), run("c", 3)]],
      latestPoll: newest,
      pausedView: undefined,
    });
    expect(rows.map((row) => row.id)).toEqual(["a", "b", "z", "c"]);
  });
});

describe("responses of the server", () => {
  test("counts include empty buckets and the whole range", () => {
    const counts = parseRunCounts({
      from: "1970-01-01T00:00:05Z",
      to: "1970-01-01T00:00:35Z",
      width_ms: 10_000,
      buckets: [{ start: "1970-01-01T00:00:10Z", runs: 4, errors: 1 }],
    });
    expect(counts.bucketStarts).toEqual([0, 10_000, 20_000, 30_000]);
    expect(counts.failed).toEqual([0, 1, 0, 0]);
    expect(counts.succeeded).toEqual([0, 3, 0, 0]);
    expect(counts.range).toEqual([0, 40_000]);
    expect(() => parseRunCounts({})).toThrow(TypeError);
  });

  test("an invalid page of runs is rejected", () => {
    expect(() => parseRunItemPage({})).toThrow(TypeError);
    expect(() => parseRunItemPage({ runs: [{ id }] })).toThrow(TypeError);
    const page = parseRunItemPage({
      runs: [{ id, start_time: "2026-03-01T12:00:00Z", total_tokens: 0, total_cost: "0.5" }],
      cursors: { next: "c" },
      searched_to: null,
      is_short: true,
    });
    expect(page).toMatchObject({ next: "c", isShort: true, searchedToMs: undefined });
    expect(page.items[0]).toMatchObject({ tokens: undefined, cost: 0.5, status: "pending" });
  });

  test("shows a root's own first token, or else that of its trace", () => {
    const times = ["2026-03-01T12:00:01Z", "2026-03-01T12:00:03Z"] as const;
    const run = {
      id,
      start_time: "2026-03-01T12:00:00Z",
      trace_usage: { first_token_time: times[0] },
    };
    const { items } = parseRunItemPage({ runs: [run, { ...run, first_token_time: times[1] }] });
    expect(items.map(({ firstTokenMs }) => firstTokenMs)).toEqual(times.map(Date.parse));
  });
});
