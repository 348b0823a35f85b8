import { randomUUID } from "node:crypto";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
// The writer thread is started from its built file, so the test uses the built engine.
import { openSqliteStore } from "../../../dist/store/sqlite-store.js";
import { formatMigrations } from "../schema.ts";
import { databaseFileName } from "../../storage/sqlite/open-database.ts";
import type { Store } from "../store.ts";
import { openDatabase } from "../../storage/sqlite/connection.ts";
import { parseBatch } from "../../runs/ingest/parse-batch.ts";
import { describeProjects } from "./project-contract.ts";
import { describeQueries } from "./query-contract.ts";
import { describeIngest } from "./ingest-contract.ts";
import { describeSharedTexts } from "./shared-text-contract.ts";
import { temporaryFolder } from "../../../tests/support/running-server.ts";
import { StoreFixture } from "../../../tests/support/store-fixture.ts";
import { someMicros, wireRun } from "../../../tests/support/wire-runs.ts";

describe("the store in SQLite", () => {
  let folder: string;
  let store: Store;
  // One store for all tests, each with a tenant of its own: to open a store takes longer than most of the tests.
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-store-"));
    store = await openSqliteStore(folder);
  });
  afterAll(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
  const open = async (): Promise<StoreFixture> => {
    const tenant = await store.write.tenants.create({ handle: null, displayName: "test" });
    return new StoreFixture(store, tenant.id);
  };
  describeIngest(open);
  describeQueries(open);
  describeProjects(open);
  describeSharedTexts({
    open,
    count: (tenantId) => {
      const db = openDatabase(join(folder, databaseFileName));
      const [counts] = db
        .prepare(
          `SELECT (SELECT count(*) FROM shared_texts WHERE tenant_id = ?1) AS texts,
             (SELECT count(*) FROM payloads p JOIN runs r ON r.trace_id = p.trace_id AND r.id = p.id
                JOIN projects j ON j.id = r.project_id WHERE j.tenant_id = ?1 AND p.parts IS NOT NULL) AS payloads`,
        )
        .all([tenantId]) as readonly { readonly texts: number; readonly payloads: number }[];
      db.close();
      return Promise.resolve({ texts: counts?.texts ?? -1, payloads: counts?.payloads ?? -1 });
    },
    sweep: async () => {
      for (let next: string | null = ""; next !== null;) {
        ({ next } = await store.write.retention.sweep(Date.now() * 1_000, next));
      }
    },
  });
});

test("stored data is there when the folder is opened again", async () => {
  const folder = await temporaryFolder();
  const run = wireRun({ name: "kept" });
  const first = await openSqliteStore(folder);
  await first.ingest(
    first.defaultTenantId,
    parseBatch(Buffer.from(JSON.stringify({ post: [run] }))).batch,
  );
  const tenantId = first.defaultTenantId;
  const tenant = await first.read.tenants.find(tenantId);
  await first.close();
  const second = await openSqliteStore(folder);
  expect(second.defaultTenantId).toBe(tenantId);
  expect(await second.read.tenants.find(tenantId)).toEqual(tenant);
  expect(Math.abs(Number(tenant?.createdMicros) / 1_000 - Date.now())).toBeLessThan(60_000);
  expect((await second.read.runs.find(second.defaultTenantId, run.id))?.row.name).toBe("kept");
  await second.close();
});

test("the log is checkpointed and reused while the store is running, and nothing of it is lost", async () => {
  const folder = await temporaryFolder();
  const store = await openSqliteStore(folder);
  const sizeOf = (file: string): number => statSync(join(folder, file)).size;
  const inputs = { text: "x".repeat(8 * mebibyte) };
  const runs = Array.from({ length: 25 }, () => wireRun({ inputs }));
  for (let from = 0; from < runs.length; from += 5) {
    const post = runs.slice(from, from + 5);
    const { batch } = parseBatch(Buffer.from(JSON.stringify({ post })));
    await store.ingest(store.defaultTenantId, batch);
    // Well before the commit at which SQLite itself would run a checkpoint.
    await expect
      .poll(() => sizeOf(databaseFileName), { timeout: 20_000 })
      .toBeGreaterThan((from + 4) * 8 * mebibyte);
  }
  expect(sizeOf(`${databaseFileName}-wal`)).toBeLessThan(160 * mebibyte);
  await store.close();
  // No log remains once the store is closed.
  expect(
    statSync(join(folder, `${databaseFileName}-wal`), { throwIfNoEntry: false })?.size ?? 0,
  ).toBe(0);
  const again = await openSqliteStore(folder);
  for (const { id } of runs) {
    expect((await again.read.runs.find(again.defaultTenantId, id))?.row.id).toBe(id);
  }
  await again.close();
}, 60_000);

const mebibyte = 1_048_576;

test("close waits for pending writes, and may be called twice", async () => {
  const folder = await temporaryFolder();
  const store = await openSqliteStore(folder);
  const runs = Array.from({ length: 20 }, () => wireRun());
  const sent = runs.map((run) =>
    store.ingest(
      store.defaultTenantId,
      parseBatch(Buffer.from(JSON.stringify({ post: [run] }))).batch,
    ),
  );
  await Promise.all([store.close(), store.close()]);
  const results = await Promise.all(sent);
  expect(results.map(({ accepted }) => accepted)).toEqual(runs.map(() => 1));
});

test("after close the store reports that it is closing", async () => {
  const store = await openSqliteStore(await temporaryFolder());
  await store.close();
  const { batch } = parseBatch(Buffer.from(JSON.stringify({ post: [wireRun()] })));
  await expect(store.ingest(store.defaultTenantId, batch)).rejects.toThrow("the server is closing");
});

test("a folder can be used by one store at a time", async () => {
  const folder = await temporaryFolder();
  const store = await openSqliteStore(folder);
  await expect(openSqliteStore(folder)).rejects.toMatchObject({ code: "DATA_DIR_IN_USE" });
  await store.close();
  await (await openSqliteStore(folder)).close();
});

test("a database of a newer format is rejected with an error that names it", async () => {
  const folder = await temporaryFolder();
  await (await openSqliteStore(folder)).close();
  const db = openDatabase(join(folder, "millrace.db"));
  db.exec("PRAGMA user_version = 99");
  db.close();
  await expect(openSqliteStore(folder)).rejects.toThrow(
    `format 99, but this server supports formats up to ${formatMigrations.length}`,
  );
});

test("the database of another program is rejected, and stays unchanged", async () => {
  const folder = await temporaryFolder();
  const file = join(folder, "millrace.db");
  const db = openDatabase(file);
  db.exec(
    "CREATE TABLE settings (a); INSERT INTO settings VALUES ('theirs'); PRAGMA user_version = 3",
  );
  db.close();
  const before = readFileSync(file);
  await expect(openSqliteStore(folder)).rejects.toThrow("it is the database of another program");
  expect(readFileSync(file)).toEqual(before);
  writeFileSync(file, "This is a letter and no database. ".repeat(100));
  await expect(openSqliteStore(folder)).rejects.toThrow("file is not a database");
  expect(readFileSync(file, "utf8")).toMatch(/^This is a letter/);
});

test("a database has Millrace's application id in its header", async () => {
  const folder = await temporaryFolder();
  await (await openSqliteStore(folder)).close();
  expect(readFileSync(join(folder, "millrace.db")).toString("latin1", 68, 72)).toBe("MILL");
});

test.each([1, 2])("a database of format %i is migrated with its content", async (format) => {
  const folder = await temporaryFolder();
  const { id, trace_id, dotted_order } = wireRun();
  const [tenantId, projectId] = [randomUUID(), randomUUID()];
  const db = openDatabase(join(folder, "millrace.db"));
  db.exec(formatMigrations.slice(0, format).join(""));
  db.prepare("INSERT INTO settings VALUES ('tenant_id', ?)").run([tenantId]);
  db.prepare("INSERT INTO projects (id, tenant_id, name_json, start_us) VALUES (?, ?, ?, ?)").run([
    projectId,
    tenantId,
    '"before"',
    someMicros,
  ]);
  db.prepare(
    "INSERT INTO runs VALUES (?, ?, ?, 'kept', 'chain', ?, NULL, 0, NULL, ?, NULL, 1, 0)",
  ).run([trace_id, id, projectId, someMicros, dotted_order]);
  db.prepare("INSERT INTO payloads VALUES (?, ?, '', '{}')").run([trace_id, id]);
  db.exec(`PRAGMA user_version = ${format}`);
  db.close();
  const store = await openSqliteStore(folder);
  expect(store.defaultTenantId).toBe(tenantId);
  expect(await store.read.tenants.find(tenantId)).toEqual({
    id: tenantId,
    handle: null,
    displayName: "local",
    createdMicros: someMicros,
  });
  const [project] = await store.read.projects.list(tenantId, { limit: 10, offset: 0 });
  expect(project).toMatchObject({ name: "before", description: null, endMicros: null });
  expect((await store.read.runs.find(tenantId, id))?.projectName).toBe("before");
  await store.close();
});
