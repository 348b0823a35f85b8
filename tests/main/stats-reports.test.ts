import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { StatsReports } from "../../src/delivery/stats-reports.ts";
import { resolveOptions } from "../../src/model/options/options.ts";
import { Recording } from "../../src/delivery/recording.ts";
import type { StatsReport } from "../../src/model/records/stats-report.ts";
import type { RecordingStats } from "../../src/model/stats.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});

afterEach(() => {
  vi.useRealTimers();
});

/** The stats of a client that has recorded nothing. */
const noStats = (): RecordingStats =>
  new Recording(
    resolveOptions({}, {}),
    { headers: {}, logger: { warn: () => undefined } },
    {},
  ).stats();

function reporting(send = async (_report: StatsReport): Promise<void> => undefined) {
  let stats = noStats();
  const sent: StatsReport[] = [];
  const reports = new StatsReports({
    projectName: "p",
    readStats: () => stats,
    send: async (report) => {
      sent.push(report);
      await send(report);
    },
  });
  const change = (changes: Partial<RecordingStats>): void => {
    stats = { ...stats, ...changes };
  };
  return { reports, sent, change };
}

test("nothing is reported before the server announces support", async () => {
  const { sent, change } = reporting();
  change({ accepted: 1 });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(sent).toEqual([]);
});

test("changes are reported at most every five seconds, and unchanged counters are not", async () => {
  const { reports, sent, change } = reporting();
  change({ accepted: 2, delivered: 1, pending: 1 });
  reports.start();
  reports.start();
  await vi.advanceTimersByTimeAsync(500);
  expect(sent).toMatchObject([{ project: "p", accepted: 2, delivered: 1, pending: 1, dropped: 0 }]);
  change({ delivered: 2, pending: 0 });
  await vi.advanceTimersByTimeAsync(4_999);
  expect(sent).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(sent).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(sent).toHaveLength(2);
  expect(new Set(sent.map(({ id }) => id)).size).toBe(1);
  reports.end();
});

test("a failed report is not repeated, and the next one is sent", async () => {
  const { reports, sent, change } = reporting(() => Promise.reject(new Error("away")));
  change({ accepted: 1 });
  reports.start();
  await vi.advanceTimersByTimeAsync(10_500);
  expect(sent).toHaveLength(1);
  change({ accepted: 2 });
  await vi.advanceTimersByTimeAsync(5_000);
  expect(sent).toHaveLength(2);
  reports.end();
});

test("nothing is reported after the end", async () => {
  const { reports, sent, change } = reporting();
  reports.start();
  reports.end();
  reports.start();
  change({ accepted: 1 });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(sent).toEqual([]);
});
