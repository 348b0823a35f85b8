import { expect, test } from "vitest";
import {
  countRunsByProject,
  listActiveProjects,
  mergeReports,
  parseLiveReport,
  summarize,
  toSeries,
} from "../../src/api/live-report.ts";
import type { LiveReport, LiveCounts, LiveSecond } from "../../src/api/live-report.ts";

const none: LiveCounts = { runs: 0, traces: 0, errors: 0, tokens: 0, cost: 0, latencies: [] };
const second = (at: number, counts: Partial<LiveCounts>, id = "a"): LiveSecond => ({
  at,
  projects: { [id]: { ...none, ...counts } },
});
const liveOf = (now: number, ...seconds: readonly LiveSecond[]): LiveReport => ({
  now,
  seconds,
  senders: [],
});

test("seconds in a report after a reconnect replace the earlier ones", () => {
  const previous = liveOf(1_003, second(1_000, { runs: 1 }), second(1_002, { runs: 2 }));
  const latest = liveOf(1_005, second(1_002, { runs: 3 }), second(1_004, { runs: 4 }));
  const { seconds } = mergeReports(previous, latest);
  expect(seconds.map(({ at, projects }) => [at, projects["a"]?.runs])).toEqual([
    [1_000, 1],
    [1_002, 3],
    [1_004, 4],
  ]);
});

test("seconds that are older than five minutes are dropped", () => {
  const previous = liveOf(1_000, second(699, { runs: 1 }), second(700, { runs: 1 }));
  expect(mergeReports(previous, liveOf(1_000)).seconds.map(({ at }) => at)).toEqual([700]);
});

test("a minute is summarized as rates, shares, and latencies within 2.5 %", () => {
  // The upper bound of bucket 189 is 10.1 ms, that of bucket 236 is 100.5 ms.
  const live = liveOf(
    1_000,
    second(939, { runs: 1_000 }),
    second(950, { runs: 100, traces: 99, errors: 3, latencies: [[189, 99]] }),
    second(960, { runs: 20, traces: 1, tokens: 7, cost: 0.5, latencies: [[236, 1]] }),
  );
  const summary = summarize(live, 60);
  expect(summary).toMatchObject({ runsPerSecond: 2, errorRate: 0.03, tokens: 7, cost: 0.5 });
  expect(Math.abs(summary.p50Ms! - 9.87) / 9.87).toBeLessThan(0.025);
  expect(summarize(live, 60, "b")).toMatchObject({ runs: 0, errorRate: undefined });
  const slow = summarize(liveOf(1_000, second(999, { traces: 1, latencies: [[236, 1]] })), 60);
  expect(Math.abs(slow.p99Ms! - 98) / 98).toBeLessThan(0.025);
});

test("the runs of an interval are counted by project, the busiest first", () => {
  const live = liveOf(
    1_000,
    second(989, { runs: 50 }, "c"),
    second(990, { runs: 2 }, "a"),
    second(994, { runs: 3 }, "b"),
    second(994, { runs: 0 }, "c"),
    second(995, { runs: 9 }, "a"),
  );
  expect(countRunsByProject(live, { fromMs: 990_000, toMs: 995_000 })).toEqual([
    { id: "b", runs: 3 },
    { id: "a", runs: 2 },
    { id: "c", runs: 0 },
  ]);
});

test("empty steps are included, and steps do not shift from second to second", () => {
  const live = liveOf(1_004, second(994, { runs: 5 }), second(1_001, { runs: 9 }));
  const { stepStarts, steps } = toSeries(live, 5);
  expect(stepStarts).toHaveLength(60);
  expect(stepStarts.at(-1)).toBe(995_000);
  expect(steps.at(-2)?.runsPerSecond).toBe(1);
  expect(steps.at(-1)?.runsPerSecond).toBe(0);
  expect(toSeries({ ...live, now: 1_000 }, 5).stepStarts).toEqual(stepStarts);
});

test("projects are sorted by their runs in the last minute", () => {
  const live = liveOf(
    1_000,
    second(800, { runs: 99 }, "old"),
    second(990, { runs: 1 }, "some"),
    second(991, { runs: 5 }, "busy"),
  );
  expect(listActiveProjects(live)).toEqual(["busy", "some", "old"]);
});

test("an invalid event of the feed is rejected", () => {
  expect(() => parseLiveReport('{"now":1}')).toThrow(TypeError);
});
