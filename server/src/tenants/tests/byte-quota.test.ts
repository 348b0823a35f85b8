import { EventEmitter, once } from "node:events";
import { Client } from "millrace";
import { expect, onTestFinished, test, vi } from "vitest";
import { call, runOwnServer } from "../../../tests/support/running-server.ts";
import { ByteQuota } from "../byte-quota.ts";
import type { MeasuredStore } from "../byte-quota.ts";

/** A store whose runs are measured two at a time. */
class FakeRuns implements MeasuredStore {
  runs: { readonly tenantId: string; readonly bytes: number }[] = [];
  measurements = 0;
  mustFail = false;

  readonly read: MeasuredStore["read"] = {
    storage: {
      measureRuns: async ({ after, limit }) => {
        if (this.mustFail) {
          this.measurements += 1;
          throw new Error("too slow");
        }
        const from = Number(after ?? 0);
        const tenants = this.runs.slice(from, from + limit);
        const isLast = tenants.length < limit;
        this.measurements += isLast ? 1 : 0;
        return { tenants, next: isLast ? null : String(from + limit) };
      },
    },
  };
}

/** Waits until a whole measurement began and ended. */
async function waitForMeasurement(store: FakeRuns): Promise<void> {
  const before = store.measurements;
  await vi.waitFor(
    () => {
      if (store.measurements <= before + 1) {
        throw new Error("nothing was measured yet");
      }
    },
    { interval: 2, timeout: 20_000 },
  );
}

function limitBytes(store: FakeRuns, maxBytes: number, onRefused: () => void = () => undefined) {
  const quota = new ByteQuota(store, {
    maxBytes,
    onRefused,
    intervalMs: 2,
    pauseMs: 1,
    runsOfPart: 2,
  });
  onTestFinished(() => quota.close());
  return quota;
}

test("runs are measured in parts, what arrives counts at once, and deletions with the next measurement", async () => {
  const store = new FakeRuns();
  store.runs = ["a", "b", "a", "a", "b"].map((tenantId) => ({ tenantId, bytes: 10 }));
  let refused = 0;
  const quota = limitBytes(store, 50, () => (refused += 1));
  await waitForMeasurement(store);
  expect([quota.read("a"), quota.read("b"), quota.read("c")]).toEqual([30, 20, 0]);
  expect(() => quota.admit("a")).not.toThrow();
  store.runs.push({ tenantId: "a", bytes: 20 });
  await waitForMeasurement(store);
  expect(() => quota.admit("a")).toThrow(
    "insufficient_quota: the runs of the tenant take 50 bytes, and the limit of this server is 50 (--tenant-max-bytes): delete runs, or set a retention",
  );
  expect(() => quota.admit("b")).not.toThrow();
  store.runs = store.runs.slice(1);
  await waitForMeasurement(store);
  expect(() => quota.admit("a")).not.toThrow();
  expect(refused).toBe(1);
});

test("a failed measurement changes nothing, and what has arrived goes on to count", async () => {
  const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  const store = new FakeRuns();
  store.runs = [{ tenantId: "a", bytes: 10 }];
  const quota = limitBytes(store, 30);
  await waitForMeasurement(store);
  store.mustFail = true;
  await waitForMeasurement(store);
  quota.countReceived("a", 15);
  await waitForMeasurement(store);
  expect(quota.read("a")).toBe(25);
  quota.countReceived("a", 5);
  expect(() => quota.admit("a")).toThrow("insufficient_quota");
  expect(String(warn.mock.calls[0]?.[0])).toContain("could not be measured: too slow");
});

test("before the first measurement has ended nothing is refused, because nothing is known", () => {
  const store: MeasuredStore = {
    read: { storage: { measureRuns: () => once(new EventEmitter(), "never") as Promise<never> } },
  };
  const quota = new ByteQuota(store, { maxBytes: 1, onRefused: () => undefined });
  onTestFinished(() => quota.close());
  quota.countReceived("a", 100);
  expect(quota.read("a")).toBeUndefined();
  expect(() => quota.admit("a")).not.toThrow();
});

test("beyond the stored bytes the SDK reports a used-up quota, and the settings show it", async () => {
  const server = await runOwnServer({
    tenantMaxBytes: 2_000,
    tenantMaxRuns: 100,
    tenantIngestBytes: 1_000_000,
  });
  const client = new Client({ endpoint: server.url, projectName: "full" });
  onTestFinished(() => void client.close());
  const readLimits = async () => (await call(server, "GET /ui/storage")).json["limits"];
  await expect.poll(readLimits).toEqual([
    { limit: "stored_bytes", max: 2_000, used: 0 },
    { limit: "stored_runs", max: 100, used: 0 },
    { limit: "ingest_bytes", max: 1_000_000, used: 0 },
  ]);
  client.startRun({ name: "large", inputs: { text: "x".repeat(3_000) } }).end({});
  await client.flush();
  expect(client.stats().lost.rejected).toBe(0);
  // The bytes are counted when the response has ended.
  await expect
    .poll(async () => (await call(server, "POST /runs/batch", { body: { post: [] } })).json)
    .toMatchObject({ detail: expect.stringContaining("--tenant-max-bytes") as unknown });
  client.startRun({ name: "further" }).end({});
  await client.flush();
  expect(client.stats().lost.rejected).toBeGreaterThan(0);
  expect(await readLimits()).toMatchObject([{}, { used: 1 }, {}]);
  const { text } = await call(server, "GET /metrics");
  expect(text).toMatch(/millrace_limited_requests_total\{limit="stored_bytes"\} [1-9]/);
});
