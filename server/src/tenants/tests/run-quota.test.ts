import { randomUUID } from "node:crypto";
import { Client } from "millrace";
import { expect, onTestFinished, test } from "vitest";
import { call, runOwnServer, temporaryFolder } from "../../../tests/support/running-server.ts";
import { RunQuota } from "../run-quota.ts";
import type { CountedStore } from "../run-quota.ts";

type Listener = Parameters<CountedStore["onActivity"]>[0];

test("runs that are stored count at once, deletions with the next count, and a failed count changes nothing", async () => {
  let stored = [{ tenantId: "a", runs: 2 }];
  let counts = 0;
  let mustFail = false;
  const listeners: Listener[] = [];
  let refused = 0;
  const quota = new RunQuota(
    {
      read: {
        storage: {
          countRuns: async () => {
            counts += 1;
            if (mustFail) {
              throw new Error("too slow");
            }
            return stored;
          },
        },
      },
      onActivity: (listener) => void listeners.push(listener),
    },
    { maxRuns: 3, onRefused: () => (refused += 1), intervalMs: 5 },
  );
  onTestFinished(() => quota.close());
  const waitForCount = async (): Promise<void> => {
    const before = counts;
    await expect.poll(() => counts, { interval: 2 }).toBeGreaterThan(before + 1);
  };
  await waitForCount();
  expect(() => quota.admit("a")).not.toThrow();
  mustFail = true;
  await waitForCount();
  listeners[0]?.([{ tenantId: "a", runs: 1 }]);
  await waitForCount();
  expect(() => quota.admit("a")).toThrow(
    "insufficient_quota: the tenant stores 3 runs, and the limit of this server is 3 (--tenant-max-runs)",
  );
  expect(() => quota.admit("b")).not.toThrow();
  stored = [];
  mustFail = false;
  await waitForCount();
  expect(() => quota.admit("a")).not.toThrow();
  expect(refused).toBe(1);
});

test("a run that is stored while runs are counted does not count twice", async () => {
  let endCount: () => void = () => undefined;
  const listeners: Listener[] = [];
  const quota = new RunQuota(
    {
      read: {
        storage: {
          countRuns: () =>
            new Promise((resolve) => {
              endCount = () => resolve([{ tenantId: "a", runs: 1 }]);
            }),
        },
      },
      onActivity: (listener) => void listeners.push(listener),
    },
    { maxRuns: 2, onRefused: () => undefined },
  );
  onTestFinished(() => quota.close());
  listeners[0]?.([{ tenantId: "a", runs: 1 }]);
  expect(quota.read("a")).toBe(1);
  endCount();
  await expect.poll(() => quota.read("a")).toBe(1);
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  expect(quota.read("a")).toBe(1);
  expect(() => quota.admit("a")).not.toThrow();
});

test("beyond the stored runs the SDK reports a used-up quota, and feedback and reading go on", async () => {
  const server = await runOwnServer({ tenantMaxRuns: 3 });
  const client = new Client({ endpoint: server.url, projectName: "full" });
  onTestFinished(() => void client.close());
  const stored: string[] = [];
  // Runs that are stored while the server counts for the first time do not count until the next time.
  for (let number = 1; number <= 7; number += 1) {
    const run = client.startRun({ name: `run ${number}` });
    run.end({});
    await client.flush();
    if (client.stats().lost.rejected > 0) {
      break;
    }
    stored.push(run.id);
  }
  expect(client.stats().lost.rejected).toBeGreaterThan(0);
  expect(stored.length).toBeGreaterThanOrEqual(3);
  const refused = await call(server, "POST /runs", { body: { id: randomUUID() } });
  expect(refused).toMatchObject({
    status: 429,
    json: { detail: expect.stringContaining("the limit of this server is 3") as string },
  });
  const runs = await client.runs.list({ projectNames: ["full"] }).toArray();
  expect(runs.map(({ id }) => id).toSorted()).toEqual(stored.toSorted());
  const feedback = { run_id: runs[0]?.id, key: "k", score: 1 };
  expect((await call(server, "POST /feedback", { body: feedback })).status).toBe(200);
  const { text } = await call(server, "GET /metrics");
  expect(text).toMatch(/millrace_limited_requests_total\{limit="stored_runs"\} [1-9]/);
});

test("the runs that were stored before the start count", async () => {
  const dataDir = await temporaryFolder();
  const first = await runOwnServer({ dataDir });
  const client = new Client({ endpoint: first.url, projectName: "before" });
  client.startRun({ name: "stored" }).end({});
  await client.flush();
  await client.close();
  await first.close();
  const second = await runOwnServer({ dataDir, tenantMaxRuns: 1 });
  await expect
    .poll(async () => (await call(second, "POST /runs/batch", { body: { post: [] } })).status)
    .toBe(429);
});
