import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ReaderThread } from "../dist/store/sqlite/reader-thread.js";
import { openSqliteStore } from "../dist/store/sqlite/sqlite-store.js";
import { openWriter } from "../src/store/sqlite/schema.ts";
import { StoreDesk } from "./support/store-desk.ts";
import { temporaryFolder } from "./support/running-server.ts";
import { wireRun } from "./support/wire-runs.ts";

test("a question that takes long keeps nobody waiting who asks after it", async () => {
  const store = await openSqliteStore(await temporaryFolder());
  const desk = new StoreDesk(store);
  const run = wireRun({ name: "one" });
  await desk.send({ post: [run] });
  const order: string[] = [];
  const slow = store.read.runs.statistics(desk.tenantId, {}).then((found) => {
    order.push("statistics");
    return found;
  });
  const quick = desk.read(run.id).then((found) => {
    order.push("run");
    return found;
  });
  expect(await quick).toMatchObject({ name: "one" });
  expect(await slow).toMatchObject({ runCount: 1 });
  expect(order).toEqual(["run", "statistics"]);
  await store.close();
});

test("what was written before a question that takes long is in its answer", async () => {
  const store = await openSqliteStore(await temporaryFolder());
  const desk = new StoreDesk(store);
  for (const runCount of [1, 2, 3]) {
    await desk.send({ post: [wireRun()] });
    expect(await store.read.runs.statistics(desk.tenantId, {})).toMatchObject({ runCount });
  }
  await store.close();
});

test("what such a question throws reaches who asked, and the next one is answered", async () => {
  const store = await openSqliteStore(await temporaryFolder());
  const desk = new StoreDesk(store);
  const broken = { count: 1 } as unknown as Record<string, never>;
  await expect(
    store.read.storage.projects(desk.tenantId, broken as unknown as { limit: 1; offset: 0 }),
  ).rejects.toMatchObject({ name: "RequestError", status: 503 });
  expect(await store.read.storage.projects(desk.tenantId, { limit: 1, offset: 0 })).toEqual([]);
  await store.close();
});

test("a closed store refuses such questions; one asked before it closed is answered", async () => {
  const store = await openSqliteStore(await temporaryFolder());
  const desk = new StoreDesk(store);
  await desk.send({ post: [wireRun()] });
  await store.read.runs.statistics(desk.tenantId, {});
  const asked = store.read.runs.statistics(desk.tenantId, {});
  await new Promise(setImmediate);
  await store.close();
  expect(await asked).toMatchObject({ runCount: 1 });
  await expect(store.read.runs.statistics(desk.tenantId, {})).rejects.toMatchObject({
    status: 503,
  });
});

test("a thread that did not start is 503, and the next question starts it anew", async () => {
  const folder = join(await temporaryFolder(), "later");
  const file = join(folder, "millrace.db");
  const thread = new ReaderThread(file);
  const ask = (): Promise<unknown> => thread.read("storage", "use", ["t"]);
  await expect(ask()).rejects.toMatchObject({ name: "RequestError", status: 503 });
  await mkdir(folder);
  openWriter(file).close();
  expect(await ask()).toMatchObject({ attachments: { count: 0 } });
  await thread.close();
});
