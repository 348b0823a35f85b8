import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
// The writer's thread needs its file, so this engine is tested as it is built.
import { openSqliteStore } from "../dist/store/sqlite/sqlite-store.js";
import { openDatabase } from "../src/store/sqlite/schema.ts";
import { parseBatch } from "../src/ingest/parse-batch.ts";
import { describeProjects } from "./project-contract.ts";
import { describeQueries } from "./query-contract.ts";
import { describeIngest } from "./ingest-contract.ts";
import { temporaryFolder } from "./support/running-server.ts";
import { wireRun } from "./support/wire-runs.ts";

const folders: string[] = [];

describe("the store in SQLite", () => {
  const open = async () => {
    const folder = await mkdtemp(join(tmpdir(), "millrace-store-"));
    folders.push(folder);
    return openSqliteStore(folder);
  };
  describeIngest(open);
  describeQueries(open);
  describeProjects(open);
  afterAll(() =>
    Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))),
  );
});

test("what was stored is there when the folder is opened again", async () => {
  const folder = await temporaryFolder();
  const run = wireRun({ name: "kept" });
  const first = await openSqliteStore(folder);
  await first.ingest(parseBatch(Buffer.from(JSON.stringify({ post: [run] }))).batch);
  const { tenantId, tenantMicros } = first;
  await first.close();
  const second = await openSqliteStore(folder);
  expect([second.tenantId, second.tenantMicros]).toEqual([tenantId, tenantMicros]);
  expect(Math.abs(tenantMicros / 1_000 - Date.now())).toBeLessThan(60_000);
  expect((await second.findRun(run.id))?.row.name).toBe("kept");
  await second.close();
});

test("close waits for what is under way, and may be called twice", async () => {
  const folder = await temporaryFolder();
  const store = await openSqliteStore(folder);
  const runs = Array.from({ length: 20 }, () => wireRun());
  const sent = runs.map((run) =>
    store.ingest(parseBatch(Buffer.from(JSON.stringify({ post: [run] }))).batch),
  );
  await Promise.all([store.close(), store.close()]);
  const results = await Promise.all(sent);
  expect(results.map(({ accepted }) => accepted)).toEqual(runs.map(() => 1));
});

test("after close the store says that it is closing", async () => {
  const store = await openSqliteStore(await temporaryFolder());
  await store.close();
  const { batch } = parseBatch(Buffer.from(JSON.stringify({ post: [wireRun()] })));
  await expect(store.ingest(batch)).rejects.toThrow("the server is closing");
});

test("a folder is one store's at a time", async () => {
  const folder = await temporaryFolder();
  const store = await openSqliteStore(folder);
  await expect(openSqliteStore(folder)).rejects.toMatchObject({ code: "DATA_DIR_IN_USE" });
  await store.close();
  await (await openSqliteStore(folder)).close();
});

test("a database of a newer format is refused by name", async () => {
  const folder = await temporaryFolder();
  await (await openSqliteStore(folder)).close();
  const db = openDatabase(join(folder, "millrace.db"));
  db.exec("PRAGMA user_version = 99");
  db.close();
  await expect(openSqliteStore(folder)).rejects.toThrow(/format 99.*up to 2/);
});

test("a database of format 1 is taken over, its projects with it", async () => {
  const folder = await temporaryFolder();
  const run = wireRun({ session_name: "before" });
  const first = await openSqliteStore(folder);
  await first.ingest(parseBatch(Buffer.from(JSON.stringify({ post: [run] }))).batch);
  await first.close();
  const db = openDatabase(join(folder, "millrace.db"));
  for (const name of ["end_us", "description_json", "extra_json", "reference_dataset_id"]) {
    db.exec(`ALTER TABLE projects DROP COLUMN ${name}`);
  }
  db.exec("PRAGMA user_version = 1");
  db.close();
  const second = await openSqliteStore(folder);
  const [project] = await second.listProjects({ limit: 10, offset: 0 });
  expect(project).toMatchObject({ name: "before", description: null, endMicros: null });
  expect((await second.findRun(run.id))?.projectName).toBe("before");
  await second.close();
});
