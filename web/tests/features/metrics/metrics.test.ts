import { expect, test } from "vitest";
import { formatTime } from "../../../src/components/time/time.ts";
import {
  toCharts,
  toGroupColor,
  toGroupLabel,
} from "../../../src/features/metrics/metric-charts.ts";
import {
  parseDashboardSearch,
  resolveScope,
  toDashboardTimes,
} from "../../../src/features/dashboard/dashboard-search.ts";
import {
  computeCostPerRun,
  describeMissing,
  formatChange,
  formatShareChange,
  parseMetrics,
} from "../../../src/features/metrics/metrics.ts";

const durations = { p50: 10, p95: null, p99: null };
const values = { runs: 4, errors: 1, tokens: 7, cost: 0.5, latency_ms: durations };
const points = {
  runs: [4, 0],
  errors: [1, 0],
  tokens: [7, 0],
  cost: [0.5, 0],
  latency_ms: { p50: [10, null] },
};
const response = {
  from: "2026-03-01T12:00:00.000000Z",
  to: "2026-03-01T12:02:00.000000Z",
  width_ms: 60_000,
  all: { total: values, previous: { ...values, runs: 2 }, points, previous_points: points },
  groups: [],
  missing: [{ from: "2026-03-01T12:01:00.000000Z", to: "2026-03-01T12:02:00.000000Z" }],
};
const previousCounts = { runs: [1, 2], errors: [0, 1], tokens: [3, 0], cost: [0.1, 0] };
const group = {
  kind: "value",
  value: "m",
  total: values,
  previous: values,
  points,
  previous_points: previousCounts,
};

test("a response is parsed; missing durations are no numbers, and each point has a start", () => {
  const metrics = parseMetrics(response);
  const fromMs = Date.parse("2026-03-01T12:00:00Z");
  expect(metrics.starts).toEqual([fromMs, fromMs + 60_000]);
  expect(metrics.total).toMatchObject({ runs: 4, cost: 0.5, latency: { p50: 10, p95: undefined } });
  expect(metrics.points.latency).toEqual({ p50: [10, null], p95: [null, null], p99: [null, null] });
  expect(metrics.missing).toEqual([{ fromMs: fromMs + 60_000, toMs: fromMs + 120_000 }]);
});

test("a response without times or groups is an error that says what is missing", () => {
  expect(() => parseMetrics({})).toThrow('no text "from"');
  expect(() => parseMetrics({ ...response, width_ms: 0 })).toThrow("no width");
  expect(() => parseMetrics({ ...response, groups: {} })).toThrow("no list of groups");
});

test("without groups, charts compare with the period before; with groups, they stack them", () => {
  const [runs, errorRate, latency] = toCharts(parseMetrics(response));
  expect(runs?.series.map(({ label, values: shown }) => [label, shown])).toEqual([
    ["Current", [4, 0]],
    ["Previous", [4, 0]],
  ]);
  expect(errorRate?.series[0]?.values).toEqual([0.25, null]);
  expect(latency?.series.map(({ label }) => label)).toEqual(["p50", "p95", "p99", "Previous p50"]);
  const other = { ...group, kind: "other", value: "" };
  const measured = { ...values, first_token_ms: { p50: 3 } };
  const all = { ...response.all, previous: measured };
  const charts = toCharts(parseMetrics({ ...response, all, groups: [group, other] }));
  expect(charts.map(({ label }) => label)).toEqual([
    "Runs",
    "Error rate",
    "p95 latency",
    "p95 first token",
    "Tokens",
    "Cost",
  ]);
  const labels = toCharts(parseMetrics(response)).map(({ label }) => label);
  expect(labels, "without a first token, there is no chart of it").not.toContain("First token");
  expect(charts[0]?.series.map(({ label, kind }) => [label, kind])).toEqual([
    ["m", "stack"],
    ["Other", "stack"],
    // The last series is drawn over the others.
    ["Previous", "reference"],
  ]);
});

test("a hostile value is shown with escapes, and cut", () => {
  const label = toGroupLabel({ kind: "value", value: `\u202E${"x".repeat(1_000_000)}` });
  expect(label).toBe(`\\u202e${"x".repeat(59)}`);
});

test("changes are rounded percentages; nothing is compared with zero", () => {
  expect(formatChange(112, 100)).toBe("+12 %");
  expect(formatChange(97, 100)).toBe("−3 %");
  expect(formatChange(100, 100)).toBe("±0 %");
  expect(formatChange(5, 0)).toBeUndefined();
  expect(formatChange(undefined, 3)).toBeUndefined();
});

test("the URL keeps valid parameters; the default range is the last 24 hours", () => {
  const search = {
    last: "90d",
    group: "model",
    scope: "models",
    filter: 12,
    percentile: "p99",
    color: "red",
  };
  expect(parseDashboardSearch(search)).toEqual({
    last: "90d",
    group: "model",
    scope: "models",
    filter: "12",
    percentile: "p99",
  });
  expect(
    parseDashboardSearch({ last: "2w", percentile: "p98", group: "x", from: "b", to: "a" }),
  ).toEqual({});
  const [from, to] = ["2026-03-01T12:00:00Z", "2026-03-02T12:00:00Z"];
  expect(parseDashboardSearch({ from })).toEqual({ from });
  expect(parseDashboardSearch({ to })).toEqual({ from: "2026-03-01T12:00:00.000Z", to });
  const nowMs = Date.parse("2026-03-02T12:00:30Z");
  expect(toDashboardTimes({}, nowMs)).toEqual({
    from: "2026-03-01T12:01:00.000Z",
    to: "2026-03-02T12:01:00.000Z",
  });
  expect(toDashboardTimes({ from }, nowMs)).toEqual({ from, to: "2026-03-02T12:01:00.000Z" });
  expect(toDashboardTimes({ from, to }, nowMs)).toEqual({ from, to });
});

test("the cost per run is unknown without runs or without costs, and huge changes are cut", () => {
  expect(computeCostPerRun({ runs: 4, cost: 1 })).toBe(0.25);
  expect(computeCostPerRun({ runs: 0, cost: 0 })).toBeUndefined();
  expect(computeCostPerRun({ runs: 4, cost: 0 })).toBeUndefined();
  expect(formatChange(1_000_000, 1)).toBe("> +9,999 %");
  expect(formatChange(24, 1)).toBe("+2,300 %");
});

test("what the figures lack is still being counted without a filter, and was not read with one", () => {
  const range = (minute: number) => ({
    fromMs: Date.UTC(2026, 10, 27, 1, minute),
    toMs: Date.UTC(2026, 10, 27, 1, minute + 1),
  });
  const named = (minute: number): string => {
    const { fromMs, toMs } = range(minute);
    return `${formatTime(fromMs).slice(0, 16)} – ${formatTime(toMs).slice(0, 16)}`;
  };
  expect(describeMissing([], false)).toBeUndefined();
  expect(describeMissing([range(5)], false)).toBe(
    `Counting the latest changes. The metrics do not include ${named(5)} yet.`,
  );
  expect(describeMissing([range(9), range(7), range(5), range(3), range(1)], true)).toBe(
    `Incomplete, because reading all runs would take too long. Not counted: ${named(9)}, ${named(7)}, ${named(5)} and 2 more`,
  );
});

test("by model, model calls are counted unless a scope is chosen", () => {
  expect(resolveScope({})).toBe("traces");
  expect(resolveScope({ group: "name" })).toBe("traces");
  expect(resolveScope({ group: "model" })).toBe("models");
  expect(resolveScope({ group: "model", scope: "traces" })).toBe("traces");
});

test("each series has the value of the whole range", () => {
  const totalsOf = (metrics: unknown) =>
    toCharts(parseMetrics(metrics)).map(({ label, series }) => [
      label,
      series.map(({ total }) => total),
    ]);
  expect(totalsOf(response)).toEqual([
    ["Runs", [4, 2]],
    ["Error rate", [0.25, 0.5]],
    ["Latency", [10, undefined, undefined, 10]],
    ["Tokens", [7, 7]],
    ["Cost", [0.5, 0.5]],
  ]);
  const grouped = totalsOf({ ...response, groups: [group] });
  expect(grouped[0]).toEqual(["Runs", [4, 4]]);
  expect(grouped[1]).toEqual(["Error rate", [0.25, 0.5]]);
});

test("a stack is compared with the stack of the period before, lines with the line of all runs", () => {
  const other = { ...group, kind: "other", value: "", previous_points: { runs: [10, 20] } };
  const metrics = parseMetrics({ ...response, groups: [group, other] });
  const [runs, errorRate, latency] = toCharts(metrics, { grouping: "tag", percentile: "p50" });
  // A run with two tags counts twice, now and before.
  expect(runs?.series.at(-1)).toMatchObject({ label: "Previous", values: [11, 22], total: 8 });
  expect(errorRate?.series.at(-1)).toMatchObject({
    label: "Previous, all groups",
    kind: "reference",
    values: [0.25, null],
  });
  expect(latency?.label).toBe("p50 latency");
  expect(latency?.series.map(({ values: shown }) => shown)).toEqual([
    [10, null],
    [10, null],
    [10, null],
  ]);
  expect(latency?.groups.map((shown) => shown?.kind)).toEqual(["value", "other", undefined]);
});

test("statuses have the colors of statuses", () => {
  const error = { kind: "value", value: "error" } as const;
  expect(toGroupColor(error, 0, "status")).toBe("--bad");
  expect(toGroupColor(error, 0, "name")).toBe("--type-retriever");
});

test("a change of a share is in percentage points, also after a period without errors", () => {
  expect(formatShareChange(0.25, 1)).toBe("−75 points");
  expect(formatShareChange(0.03, 0)).toBe("+3 points");
  expect(formatShareChange(0.0321, 0.02)).toBe("+1.2 points");
  expect(formatShareChange(0.02, 0.02)).toBe("±0 points");
  expect(formatShareChange(undefined, 0.02)).toBeUndefined();
});
