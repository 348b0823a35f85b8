import { expect, onTestFinished, test, vi } from "vitest";
import { DailyIngest } from "../daily-ingest.ts";
import type { IngestCountStore } from "../daily-ingest.ts";
import type { ServerIngest } from "../ingest-counts.ts";

const dayMs = 86_400_000;

/** A database that several servers share. */
class FakeCounts implements IngestCountStore {
  /** By tenant and day, and then by server. */
  readonly bytes = new Map<string, Map<string, number>>();
  isAway = false;
  /** Whether the next write takes effect, although its answer is lost. */
  losesAnswer = false;
  calls: string[] = [];

  readonly read = {
    ingestCounts: {
      read: async (tenantId: string, day: string): Promise<number> => {
        this.#note("read", tenantId);
        return this.sum(`${tenantId} ${day}`);
      },
    },
  };
  readonly write = {
    ingestCounts: {
      set: async (tenantId: string, day: string, count: ServerIngest): Promise<number> => {
        this.#note("set", tenantId);
        const key = `${tenantId} ${day}`;
        const byServer = this.bytes.get(key) ?? new Map<string, number>();
        this.bytes.set(key, byServer.set(count.server, count.bytes));
        if (this.losesAnswer) {
          this.losesAnswer = false;
          throw new Error("the connection was lost during a commit");
        }
        return this.sum(key);
      },
    },
  };

  sum(key: string): number {
    return [...(this.bytes.get(key)?.values() ?? [])].reduce((sum, bytes) => sum + bytes, 0);
  }

  #note(method: string, tenantId: string): void {
    this.calls.push(`${method} ${tenantId}`);
    if (this.isAway) {
      throw new Error("the database is away");
    }
  }
}

let nowMs = Date.parse("2026-11-26T23:59:00Z");

/** A server, whose exchanges are those that the test makes. */
function startServer(store: IngestCountStore): DailyIngest {
  const daily = new DailyIngest(store, { nowMs: () => nowMs, intervalMs: dayMs });
  onTestFinished(() => daily.close());
  return daily;
}

test("a server that is started again goes on with the count of the day", async () => {
  const counts = new FakeCounts();
  const first = startServer(counts);
  first.add("a", 70);
  expect(await first.read("a")).toBe(70);
  await first.close();
  const second = startServer(counts);
  expect(await second.read("a")).toBe(70);
  expect(await second.read("b")).toBe(0);
});

test("servers of one database know each other's counts after an exchange", async () => {
  const counts = new FakeCounts();
  const [one, other] = [startServer(counts), startServer(counts)];
  one.add("a", 60);
  other.add("a", 30);
  expect(await other.read("a")).toBe(30);
  await one.exchange();
  await other.exchange();
  expect(await other.read("a")).toBe(90);
  // Its request at the exchange has made the tenant active, so the next one reads what the other server has added.
  await one.read("a");
  await one.exchange();
  expect(await one.read("a")).toBe(90);
});

test("tenants that send nothing cost no queries", async () => {
  const counts = new FakeCounts();
  const daily = startServer(counts);
  daily.add("a", 1);
  await daily.exchange();
  counts.calls = [];
  await daily.exchange();
  await daily.exchange();
  expect(counts.calls).toEqual([]);
});

test("while the database is away, requests go on and count, and are stored later", async () => {
  const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  const counts = new FakeCounts();
  const daily = startServer(counts);
  counts.isAway = true;
  daily.add("a", 10);
  expect(await daily.read("a")).toBe(10);
  await daily.exchange();
  daily.add("a", 5);
  await daily.exchange();
  expect(warn).toHaveBeenCalledTimes(1);
  counts.isAway = false;
  await daily.exchange();
  expect(counts.sum("a 2026-11-26")).toBe(15);
  expect(await daily.read("a")).toBe(15);
});

test("what was stored by a commit whose answer was lost counts once", async () => {
  vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  const counts = new FakeCounts();
  const daily = startServer(counts);
  daily.add("a", 10);
  counts.losesAnswer = true;
  await daily.exchange();
  expect(counts.losesAnswer).toBe(false);
  expect(await daily.read("a")).toBe(10);
  daily.add("a", 5);
  await daily.exchange();
  expect(counts.sum("a 2026-11-26")).toBe(15);
  expect(await daily.read("a")).toBe(15);
});

test("what is counted while the count of the day is read counts once", async () => {
  const counts = new FakeCounts();
  const earlier = startServer(counts);
  earlier.add("a", 100);
  await earlier.exchange();
  const daily = startServer(counts);
  daily.add("a", 10);
  const reading = daily.read("a");
  daily.add("a", 5);
  const exchange = daily.exchange();
  expect(await reading).toBe(115);
  await exchange;
  expect(await daily.read("a")).toBe(115);
});

test("the count begins again at midnight UTC", async () => {
  const counts = new FakeCounts();
  const daily = startServer(counts);
  daily.add("a", 10);
  await daily.exchange();
  nowMs += 60_000;
  expect(await daily.read("a")).toBe(0);
  daily.add("a", 3);
  await daily.exchange();
  expect(counts.sum("a 2026-11-26")).toBe(10);
  expect(counts.sum("a 2026-11-27")).toBe(3);
});
