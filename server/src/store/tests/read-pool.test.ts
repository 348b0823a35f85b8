import { EventEmitter } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ReaderThread } from "../../../dist/store/reader-thread.js";
import { openSqliteStore } from "../../../dist/store/sqlite-store.js";
import { ReadPool } from "../read-pool.ts";
import type { QueryThread } from "../read-pool.ts";
import type { ReaderQuery } from "../reader-protocol.ts";
import { openWriter } from "../schema.ts";
import { StoreFixture } from "../../../tests/support/store-fixture.ts";
import { temporaryFolder } from "../../../tests/support/running-server.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";

/** A thread whose queries end when the test decides. */
class ScriptedThread implements QueryThread {
  static all: ScriptedThread[] = [];
  query: ReaderQuery | undefined;
  isCancelled = false;
  #answer: (value: unknown) => void = () => undefined;

  constructor() {
    ScriptedThread.all.push(this);
  }

  read(query: ReaderQuery): Promise<unknown> {
    this.query = query;
    this.isCancelled = false;
    return new Promise((resolve) => {
      this.#answer = resolve;
    });
  }

  cancel(): void {
    this.isCancelled = true;
  }

  async answer(): Promise<void> {
    this.query = undefined;
    this.#answer("answered");
    await new Promise(setImmediate);
  }

  async close(): Promise<void> {}
}

const sizes = {
  threadCount: 4,
  maxLongQueries: 3,
  maxLongQueriesOfTenant: 2,
  maxWaitingQueries: 5,
};

function createPool(timeoutMs = 60_000) {
  ScriptedThread.all = [];
  const pool = new ReadPool(() => new ScriptedThread(), timeoutMs, sizes);
  onTestFinished(() => pool.close());
  const running = () => ScriptedThread.all.flatMap(({ query }) => (query ? [query.args[0]] : []));
  const send = (
    method: "readStatistics" | "find",
    tenantId: string,
    client: EventEmitter = new EventEmitter(),
  ) => {
    const scope = {
      tenantId,
      isClosed: false,
      onClose: (listener: () => void) => {
        client.once("close", listener);
        return () => client.off("close", listener);
      },
    };
    const asked = pool.read({ resource: "runs", method, args: [`${tenantId} ${method}`] }, scope);
    asked.catch(() => undefined); // Queries that still wait are canceled with the pool.
    return asked;
  };
  return { pool, running, send };
}

test("a tenant's long queries leave threads to quick ones and to another tenant", () => {
  const { running, send } = createPool();
  for (let count = 0; count < 6; count += 1) {
    void send("readStatistics", "one");
  }
  expect(running()).toEqual(["one readStatistics", "one readStatistics"]);
  void send("readStatistics", "two");
  void send("readStatistics", "three");
  expect(running()).toEqual(["one readStatistics", "one readStatistics", "two readStatistics"]);
  void send("find", "one");
  expect(running().at(-1)).toBe("one find");
  expect(ScriptedThread.all).toHaveLength(sizes.threadCount);
});

test("tenants take turns, however many queries one has waiting", async () => {
  const { running, send } = createPool();
  for (const tenant of ["one", "one", "two", "one", "one", "three", "two"]) {
    void send("readStatistics", tenant);
  }
  expect(running()).toEqual(["one readStatistics", "one readStatistics", "two readStatistics"]);
  await ScriptedThread.all[2]?.answer();
  expect(running()[2]).toBe("three readStatistics");
  await ScriptedThread.all[0]?.answer();
  expect(running()[0]).toBe("one readStatistics");
  await ScriptedThread.all[0]?.answer();
  expect(running()[0]).toBe("two readStatistics");
});

test("a tenant with too many waiting queries gets 503 and Retry-After; others do not", async () => {
  const { send } = createPool();
  for (let count = 0; count < 2 + sizes.maxWaitingQueries; count += 1) {
    void send("readStatistics", "one");
  }
  await expect(send("readStatistics", "one")).rejects.toMatchObject({
    status: 503,
    retryAfterSeconds: 1,
  });
  void send("readStatistics", "two");
  const quick = send("find", "one");
  await ScriptedThread.all.at(-1)?.answer();
  expect(await quick).toBe("answered");
});

test("the deadline counts from the arrival of a query, whether it waits or runs", async () => {
  const { send } = createPool(20);
  const asked = [1, 2, 3].map(() => send("readStatistics", "one"));
  for (const one of asked) {
    await expect(one).rejects.toMatchObject({ status: 408, message: /queryTimeoutMs/ });
  }
  expect(ScriptedThread.all.map(({ isCancelled }) => isCancelled)).toEqual([true, true]);
});

test("a query is canceled when its client disconnects; its thread is free once it has ended", async () => {
  const { send, running } = createPool();
  const leaving = new EventEmitter();
  const left = send("readStatistics", "one", leaving);
  void send("readStatistics", "one");
  const waiting = send("readStatistics", "one", leaving);
  const next = send("readStatistics", "one");
  leaving.emit("close");
  await expect(left).rejects.toMatchObject({ status: 503 });
  await expect(waiting).rejects.toMatchObject({ status: 503 });
  expect(ScriptedThread.all.map(({ isCancelled }) => isCancelled)).toEqual([true, false]);
  await ScriptedThread.all[0]?.answer();
  expect(running()).toHaveLength(2);
  await ScriptedThread.all[0]?.answer();
  expect(await next).toBe("answered");
});

test("a query returns what was written before it", async () => {
  const store = await openSqliteStore(await temporaryFolder());
  const fixture = new StoreFixture(store);
  for (const runCount of [1, 2, 3]) {
    await fixture.send({ post: [wireRun()] });
    expect(await store.read.runs.readStatistics(fixture.tenantId, {})).toMatchObject({ runCount });
  }
  await store.close();
});

test("the error of a query reaches its caller, and the next query runs", async () => {
  const store = await openSqliteStore(await temporaryFolder());
  const fixture = new StoreFixture(store);
  const broken = { count: 1 } as unknown as Record<string, never>;
  await expect(
    store.read.storage.listProjects(fixture.tenantId, broken as unknown as { limit: 1; offset: 0 }),
  ).rejects.toMatchObject({ name: "RequestError", status: 503 });
  expect(await store.read.storage.listProjects(fixture.tenantId, { limit: 1, offset: 0 })).toEqual(
    [],
  );
  await store.close();
});

test("closing the store cancels running queries and refuses new ones", async () => {
  const store = await openSqliteStore(await temporaryFolder());
  const fixture = new StoreFixture(store);
  await fixture.send({ post: [wireRun()] });
  const asked = Array.from({ length: 40 }, () =>
    store.read.runs.readStatistics(fixture.tenantId, {}),
  );
  const settled = Promise.allSettled(asked);
  await store.close();
  const ended = (await settled).filter(({ status }) => status === "rejected");
  expect(ended.length).toBeGreaterThan(30);
  await expect(store.read.runs.readStatistics(fixture.tenantId, {})).rejects.toMatchObject({
    status: 503,
  });
});

test("a thread that fails to start is 503, and the next query starts it again", async () => {
  const folder = join(await temporaryFolder(), "later");
  const file = join(folder, "millrace.db");
  const thread = new ReaderThread({
    file: "reader.worker.js",
    createData: (cancelFlag) => ({ path: file, cancelFlag }),
    getsCancelMessage: false,
  });
  const send = (): Promise<unknown> =>
    thread.read({ resource: "storage", method: "measure", args: ["t"], withinMs: 60_000 });
  await expect(send()).rejects.toMatchObject({ name: "RequestError", status: 503 });
  await mkdir(folder);
  openWriter(file).close();
  expect(await send()).toMatchObject({ attachments: { count: 0 } });
  await thread.close();
});
