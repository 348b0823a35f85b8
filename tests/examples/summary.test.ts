import { lossReasons } from "../../src/model/stats.ts";
import { expect, test } from "vitest";
import { formatSummary, isNothingMissing } from "../../examples/ask-the-docs/summary.ts";
import type { Outcome } from "../../examples/ask-the-docs/summary.ts";

const phase = (requests: number, cpuMs: number, turns = 1): Outcome["baseline"] => ({
  requests,
  stretches: Array.from({ length: turns }, () => requests / turns),
  failedOnPurpose: 1,
  failed: 0,
  responseMs: { p50: 40, p99: 80.126 },
  cost: {
    wallMs: 10_000,
    cpuMs,
    stretchesCpuMs: Array.from({ length: turns }, () => cpuMs / turns),
    cpuSource: "thread clock",
    longestBlockMs: 9,
    loopDelayMs: { p50: 1.5, p99: 12, max: 30 },
  },
});
const nothingLost = Object.fromEntries(lossReasons.map((reason) => [reason, 0]));
const quantiles = { count: 0, p50: 0, p90: 0, p99: 0, max: 0 };
const stats: Outcome["stats"] = {
  accepted: 16_000,
  delivered: 16_000,
  rejected: 0,
  dropped: 0,
  spooled: 0,
  pending: 0,
  lost: nothingLost as Outcome["stats"]["lost"],
  sampledOut: 0,
  truncated: 0,
  redacted: 0,
  bytes: { recorded: 1, sent: 1 },
  requests: 1,
  retries: 0,
  deliveryMs: quantiles,
  prompts: { server: 0, memory: 0, stale: 0, snapshot: 0, fallback: 0 },
  warnings: {},
};
const outcome: Outcome = {
  baseline: phase(500, 1_000),
  recorded: phase(1_000, 2_400),
  runs: 8_000,
  payloadBytes: { total: 64_000_000, min: 1_100, max: 179_800 },
  stats,
  flushMs: 250,
  readBack: { equal: 8_000, different: [], missing: [], unknown: 0 },
  readBackMs: 2_000,
};

test("the summary says what was recorded, lost and read back, with units", () => {
  const text = formatSummary(outcome);
  expect(text).toContain("runs       8,000, 800 runs per second");
  expect(text).toContain("payload    64.0 MB, 1.1 kB to 179.8 kB per run");
  expect(text).toContain("accepted   16,000 records");
  expect(text).toContain("delivered  16,000 records, the last 0.25 s after");
  for (const reason of lossReasons) {
    expect(text).toContain(`${reason} 0`);
  }
  expect(text).toContain("8,000 runs equal, 0 different, 0 missing, 0 unknown");
  expect(text).toContain("Nothing is missing");
});

test("the cost of recording is the difference of both phases, shared among the runs of a request", () => {
  // 2.4 ms per request compared with 2 ms, at eight runs per request: 50 µs per run.
  expect(formatSummary(outcome)).toMatch(/CPU per run, for recording +50 µs/);
});

test("a machine that becomes faster or slower affects both sides: each phase is compared with those before and after it", () => {
  const slower = (one: Outcome["baseline"], cpuMs: readonly number[]) => ({
    ...one,
    cost: { ...one.cost, stretchesCpuMs: cpuMs },
  });
  const text = formatSummary({
    ...outcome,
    // The machine is twice as slow at the end as at the beginning. Recording costs 50, 50 and 110 µs.
    baseline: slower(phase(800, 0, 4), [400, 400, 800, 800]),
    recorded: slower(phase(900, 0, 3), [720, 1_020, 1_464]),
    runs: 7_200,
  });
  expect(text).toMatch(/CPU per run, for recording +50 µs \(50 to 110\)/);
});

test("the columns of the cost table are aligned", () => {
  const rows = formatSummary(outcome)
    .split("\n")
    .filter((line) => line.endsWith(" ms"));
  expect(new Set(rows.map((row) => row.length)).size).toBe(1);
});

test.each<[string, Partial<Outcome>]>([
  ["a record lost", { stats: { ...stats, delivered: 15_999, dropped: 1 } }],
  ["a record still waiting", { stats: { ...stats, delivered: 15_999, pending: 1 } }],
  ["a run never accepted", { stats: { ...stats, accepted: 15_998, delivered: 15_998 } }],
  ["a run missing", { readBack: { equal: 7_999, different: [], missing: ["x"], unknown: 0 } }],
  ["a run altered", { readBack: { equal: 7_999, different: ["x"], missing: [], unknown: 0 } }],
  ["a run too many", { readBack: { equal: 8_000, different: [], missing: [], unknown: 1 } }],
])("%s is not complete, and the summary says so", (_title, change) => {
  const changed = { ...outcome, ...change };
  expect(isNothingMissing(changed)).toBe(false);
  expect(formatSummary(changed)).toContain("NOT COMPLETE");
});

test("a complete outcome is complete", () => {
  expect(isNothingMissing(outcome)).toBe(true);
});
