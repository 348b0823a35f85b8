import { randomUUID } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import type { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Connection } from "../../src/model/options/connection.ts";
import { SharedTraffic } from "../../src/model/records/shared-traffic.ts";
import type { ShippingOptions, ShipTask } from "../../src/model/records/shipping.ts";
import { createRedactionPlan } from "../../src/delivery/shipping-options.ts";
import { resolveOptions } from "../../src/model/options/options.ts";
import { WorkerPool } from "../../src/workers/host/pool.ts";
import { createTestConnection } from "../support/connections.ts";
import { neverRespond, loopbackServer } from "../support/loopback-server.ts";
import { copyPackage } from "../support/package-copy.ts";
import { manyRuns, tapeOf } from "../support/run-batch.ts";

const shippingTo = (endpoint: string, options: Partial<Connection>): ShippingOptions => ({
  connection: createTestConnection(endpoint, options),
  attempts: 1,
  retryAfterLimitMs: 0,
  maxResponseBytes: 65_536,
  files: { areAllowed: false, limitBytes: 1_048_576 },
  contentDeduplication: "inline",
  attachBytesFrom: 262_144,
  runtime: {
    sdk: "millrace",
    sdk_version: "0",
    runtime: "node",
    runtime_version: "v0",
    platform: "test",
  },
  traffic: new SharedTraffic().memory,
});

function poolTo(
  endpoint: string,
  threads = 1,
  Pool = WorkerPool,
  {
    retryWorkersAfterMs = 60_000,
    stallMs = 2_000,
    ...connection
  }: Partial<Connection> & { retryWorkersAfterMs?: number; stallMs?: number } = {},
) {
  const inline: string[] = [];
  const stuck: string[] = [];
  const pool = new Pool({
    threads,
    shipping: shippingTo(endpoint, connection),
    stallMs,
    retryWorkersAfterMs,
    env: {},
    onInlineMode: (reason) => inline.push(reason),
    onStuck: () => stuck.push("stuck"),
  });
  return { pool, inline, stuck };
}

const taskOf = (count: number): ShipTask => {
  const { memory, usedBytes } = tapeOf(manyRuns(count));
  return { memory, usedBytes };
};

const workers: Worker[] = [];
const startedWorkers = new Set<Worker | undefined>();
const keepWorker = (worker: Worker): void => {
  workers.push(worker);
  worker.once("message", () => startedWorkers.add(worker));
};

beforeEach(() => {
  workers.length = 0;
  process.on("worker", keepWorker);
});

afterEach(() => {
  process.off("worker", keepWorker);
});

test("a tape is delivered by a worker, and its outcome is written into it", async () => {
  await using server = await loopbackServer();
  const { pool, inline } = poolTo(server.endpoint);
  const task = taskOf(3);
  expect(await pool.ship(task)).toMatchObject({ delivered: 3, refused: [], undelivered: 0 });
  expect(Buffer.from(task.memory)[5]).toBe(1);
  expect(workers).toHaveLength(1);
  expect(inline).toEqual([]);
  await pool.close();
});

test("nothing is started before the first tape", async () => {
  const { pool } = poolTo("http://127.0.0.1:9");
  await pool.close();
  expect(workers).toHaveLength(0);
});

test("a worker that crashes with a tape rejects it; the next tape goes to a new worker", async () => {
  await using server = await loopbackServer({
    runs: [{ status: 202 }, neverRespond, { status: 202 }],
  });
  const { pool, inline } = poolTo(server.endpoint);
  await pool.ship(taskOf(1));
  const doomed = pool.ship(taskOf(1));
  const ended = Promise.allSettled([doomed]);
  await expect.poll(() => server.runRequests.length, { timeout: 10_000 }).toBe(2);
  await workers[0]?.terminate();
  expect(await ended).toMatchObject([
    { status: "rejected", reason: { message: expect.stringMatching(/worker exited/) as string } },
  ]);
  expect(await pool.ship(taskOf(2))).toMatchObject({ delivered: 2 });
  expect(workers).toHaveLength(2);
  expect(inline).toEqual([]);
  await pool.close();
});

test("of workers that crash at short intervals, each rejects its tape: none is taken for a thread that never started", async () => {
  await using server = await loopbackServer({ runs: [{ status: 202 }, neverRespond] });
  // The watchdog checks once a second: the workers crash between two checks.
  const { pool, inline } = poolTo(server.endpoint, 1, WorkerPool, { stallMs: 60_000 });
  await pool.ship(taskOf(1));
  for (let crash = 1; crash <= 4; crash++) {
    const ended = Promise.allSettled([pool.ship(taskOf(1))]);
    await expect.poll(() => server.runRequests.length, { timeout: 10_000 }).toBe(1 + crash);
    await workers.at(-1)?.terminate();
    expect(await ended).toMatchObject([{ status: "rejected" }]);
    await expect.poll(() => startedWorkers.has(workers.at(-1)), { timeout: 10_000 }).toBe(true);
  }
  expect(workers).toHaveLength(5);
  expect(inline).toEqual([]);
  await pool.close();
});

test("a worker that crashes while idle is replaced, and nothing is thrown", async () => {
  await using server = await loopbackServer();
  const { pool, inline } = poolTo(server.endpoint);
  for (let round = 0; round < 3; round++) {
    expect(await pool.ship(taskOf(1))).toMatchObject({ delivered: 1 });
    await workers.at(-1)?.terminate();
  }
  expect(inline).toEqual([]);
  await pool.close();
});

test("many tapes at once share the worker", async () => {
  await using server = await loopbackServer();
  const { pool } = poolTo(server.endpoint);
  const reports = await Promise.all(Array.from({ length: 50 }, () => pool.ship(taskOf(2))));
  expect(reports.reduce((sum, { delivered }) => sum + delivered, 0)).toBe(100);
  expect(workers).toHaveLength(1);
  await pool.close();
});

test("close ends running tasks, and may be called twice", async () => {
  await using server = await loopbackServer({ runs: [neverRespond] });
  const { pool } = poolTo(server.endpoint);
  const shipped = pool.ship(taskOf(1));
  const ended = Promise.allSettled([shipped]);
  await expect.poll(() => server.runRequests.length, { timeout: 10_000 }).toBe(1);
  await pool.close();
  expect(await ended).toMatchObject([{ status: "rejected" }]);
  await pool.close();
});

test("without threads, the main thread sends", async () => {
  await using server = await loopbackServer();
  const { pool, inline } = poolTo(server.endpoint, 0);
  expect(pool.isThreaded).toBe(false);
  expect(await pool.ship(taskOf(3))).toMatchObject({ delivered: 3 });
  expect(workers).toHaveLength(0);
  expect(inline).toEqual([]);
  await pool.close();
});

describe("when the program may be about to end", () => {
  test("the main thread sends a few runs, and no worker starts", async () => {
    await using server = await loopbackServer();
    const { pool } = poolTo(server.endpoint);
    const endFlush = pool.expectEnd();
    const task = taskOf(3);
    const shipped = pool.ship(task);
    expect(pool.isSendingHere).toBe(true);
    expect(await shipped).toMatchObject({ delivered: 3 });
    expect(Buffer.from(task.memory)[5]).toBe(1);
    endFlush();
    expect(pool.isSendingHere).toBe(false);
    expect(workers).toHaveLength(0);
    await pool.close();
  });

  test("a program that goes on gets a worker, which knows what /info says, and so do later flushes", async () => {
    const info = { version: "0.1.0", batch_ingest_config: { use_multipart_endpoint: true } };
    await using server = await loopbackServer({ info: { body: JSON.stringify(info) } });
    const { pool } = poolTo(server.endpoint);
    pool.expectEnd()();
    await pool.ship(taskOf(1));
    expect(workers).toHaveLength(1);
    pool.expectEnd();
    await pool.ship(taskOf(1));
    expect(server.runRequests).toHaveLength(2);
    await pool.close();

    const other = poolTo(server.endpoint).pool;
    const endFlush = other.expectEnd();
    await other.ship(taskOf(1));
    endFlush();
    await other.ship(taskOf(1));
    expect(workers).toHaveLength(2);
    expect(server.requests.filter(({ path }) => path === "/info")).toHaveLength(2);
    await other.close();
  });

  test("the main thread also reports the counts of what it sent, and nothing if it sent nothing", async () => {
    await using server = await loopbackServer();
    const { pool } = poolTo(server.endpoint);
    const counts = { accepted: 1, delivered: 1, rejected: 0, dropped: 0, spooled: 0, pending: 0 };
    const report = { id: randomUUID(), project: "p", pid: 1, version: "0", ...counts };
    await pool.report(report);
    expect(server.requests).toHaveLength(0);
    pool.expectEnd();
    await pool.ship(taskOf(1));
    await pool.report(report);
    expect(JSON.parse(server.requests.at(-1)?.body.toString() ?? "")).toEqual(report);
    expect(workers).toHaveLength(0);
    await pool.close();
  });

  test("more than 128 KiB goes to a worker", async () => {
    await using server = await loopbackServer();
    const { pool } = poolTo(server.endpoint);
    pool.expectEnd();
    const [small, large] = [taskOf(100), taskOf(2_000)];
    expect(small.usedBytes).toBeLessThan(131_072);
    expect(large.usedBytes).toBeGreaterThan(131_072);
    await pool.ship(small);
    expect(workers).toHaveLength(0);
    await pool.ship(large);
    expect(workers).toHaveLength(1);
    await pool.close();
  });

  test("a worker searches for secrets, because a pattern may take forever", async () => {
    await using server = await loopbackServer();
    const redaction = createRedactionPlan(resolveOptions({ redact: ["secrets"] }, {}));
    const shipping = {
      ...shippingTo(server.endpoint, {}),
      ...(redaction === undefined ? {} : { redaction }),
    };
    const pool = new WorkerPool({
      threads: 1,
      shipping,
      stallMs: 2_000,
      env: {},
      onInlineMode: () => undefined,
    });
    pool.expectEnd();
    expect(await pool.ship(taskOf(1))).toMatchObject({ delivered: 1 });
    expect(workers).toHaveLength(1);
    await pool.close();
  });

  test("with a proxy, the main thread sends through it", async () => {
    await using proxy = await loopbackServer();
    const { pool } = poolTo("http://runs.test", 1, WorkerPool, { httpProxy: proxy.endpoint });
    pool.expectEnd();
    expect(await pool.ship(taskOf(1))).toMatchObject({ delivered: 1 });
    expect(proxy.requests.map(({ path }) => path)).toContain("http://runs.test/runs/batch");
    expect(workers).toHaveLength(0);
    await pool.close();
  });
});

describe("when the process exits", () => {
  test.each([0, 2])(
    "tapes are sent by a thread while this one is blocked, %i of them first given to this one",
    async (given) => {
      await using server = await loopbackServer({ runs: [neverRespond] });
      const { pool } = poolTo(server.endpoint);
      pool.expectEnd();
      const tasks = Array.from({ length: 3 }, () => taskOf(1));
      const results = Promise.allSettled(tasks.slice(0, given).map((task) => pool.ship(task)));
      pool.shipAtExit(tasks.slice(given));
      await expect.poll(() => server.runRequests.length, { timeout: 10_000 }).toBe(3 + given);
      expect(workers).toHaveLength(1);
      await workers[0]?.terminate();
      await pool.close();
      await results;
    },
  );

  test("tapes that wait for the pool to open are sent too", async () => {
    await using server = await loopbackServer();
    const { pool } = poolTo(server.endpoint);
    const [first, second] = [taskOf(1), taskOf(2)];
    const shipped = pool.ship(first);
    pool.shipAtExit([second]);
    const isDelivered = ({ memory }: ShipTask): boolean => Buffer.from(memory)[5] === 1;
    await expect.poll(() => [first, second].every(isDelivered), { timeout: 10_000 }).toBe(true);
    await shipped;
    await workers[0]?.terminate();
    await pool.close();
  });
});

/** Starts the pool of a copy of the package whose worker file was changed. */
async function poolOfCopy(change: (workerFile: string) => Promise<void>) {
  const copy = await copyPackage();
  await change(copy.workerFile);
  const module = (await import(copy.addressOf("workers/host/pool"))) as {
    readonly WorkerPool: typeof WorkerPool;
  };
  const { workerFile } = copy;
  return {
    WorkerPool: module.WorkerPool,
    workerFile,
    [Symbol.asyncDispose]: copy[Symbol.asyncDispose],
  };
}

test.each<readonly [string, (file: string) => Promise<void>, RegExp]>([
  ["is missing", (file) => rm(file), /ship\.task/],
  ["fails to load", (file) => writeFile(file, 'throw new Error("broken");'), /[Ww]orker|broken/],
  ["ends its thread", (file) => writeFile(file, "process.exit(3);"), /[Ww]orker/],
])("if the worker's file %s, the main thread sends, with one warning", async (_, change, why) => {
  await using server = await loopbackServer();
  await using copy = await poolOfCopy(change);
  const { pool, inline } = poolTo(server.endpoint, 1, copy.WorkerPool);
  const reports = await Promise.all(Array.from({ length: 5 }, () => pool.ship(taskOf(1))));
  expect(reports.map(({ delivered }) => delivered)).toEqual([1, 1, 1, 1, 1]);
  expect(inline).toEqual([expect.stringMatching(why)]);
  expect(pool.isThreaded).toBe(false);
  await pool.close();
});

test("workers that ran before and can't be started are tried again after a while", async () => {
  await using server = await loopbackServer();
  await using copy = await poolOfCopy(() => Promise.resolve());
  const { pool, inline } = poolTo(server.endpoint, 1, copy.WorkerPool, {
    retryWorkersAfterMs: 1_000,
  });
  expect(await pool.ship(taskOf(1))).toMatchObject({ delivered: 1 });
  const source = await readFile(copy.workerFile);
  await writeFile(copy.workerFile, "process.exit(3);");
  await workers[0]?.terminate();
  expect(await pool.ship(taskOf(2))).toMatchObject({ delivered: 2 });
  expect(inline).toHaveLength(1);
  await writeFile(copy.workerFile, source);
  await expect.poll(() => pool.isThreaded, { timeout: 10_000 }).toBe(true);
  expect(await pool.ship(taskOf(3))).toMatchObject({ delivered: 3 });
  expect(inline).toHaveLength(1);
  expect(pool.isThreaded).toBe(true);
  await pool.close();
});

test("a worker that is killed while it starts loses nothing", async () => {
  await using server = await loopbackServer();
  const { pool, inline } = poolTo(server.endpoint);
  await pool.ship(taskOf(1));
  process.once("worker", (worker) => void worker.terminate());
  await workers[0]?.terminate();
  expect(await pool.ship(taskOf(1))).toMatchObject({ delivered: 1 });
  expect(inline).toEqual([]);
  await pool.close();
});

test("a worker that waits for its server longer than the stall limit is not terminated", async () => {
  await using server = await loopbackServer({
    runs: [(response) => void setTimeout(() => response.end("{}"), 4_000)],
  });
  const { pool, stuck } = poolTo(server.endpoint);
  expect(await pool.ship(taskOf(1))).toMatchObject({ delivered: 1 });
  expect(workers).toHaveLength(1);
  expect(stuck).toEqual([]);
  await pool.close();
});

test("an unreadable tape is rejected, and the workers go on", async () => {
  await using server = await loopbackServer();
  const { pool, inline } = poolTo(server.endpoint);
  const garbage = { memory: new SharedArrayBuffer(64), usedBytes: 64 };
  for (let round = 0; round < 3; round++) {
    await expect(pool.ship(garbage)).rejects.toThrow(/No record at byte 0/);
  }
  expect(await pool.ship(taskOf(1))).toMatchObject({ delivered: 1 });
  expect(inline).toEqual([]);
  await pool.close();
});
