import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { ExampleIdIndex, selectKeysOfId, selectKeysOfIds } from "../sqlite/example-places.ts";
import { formatMigrations, openWriter } from "../../../store/schema.ts";
import { openDatabase } from "../../../storage/sqlite/connection.ts";
import type { Connection } from "../../../storage/sqlite/connection.ts";
import { openSqliteStore } from "../../../../dist/store/sqlite-store.js";
import { temporaryFolder } from "../../../../tests/support/running-server.ts";

function insert(db: Connection, ids: readonly string[], first: number): void {
  const row = db.prepare(
    `INSERT INTO examples (key, tenant_id, dataset_id, id, position, created_us, from_us, inputs, metadata)
     VALUES (?, 't', 'd', ?, 1, 1, 1, '{}', '{"dataset_split":["base"]}')`,
  );
  ids.forEach((id, index) => row.run([first + index, id]));
}

const count = (db: Connection, table: string): number =>
  Number(db.prepare(`SELECT count(*) FROM ${table}`).raw().all().flat()[0]);

test("the index finds an id while its entry is new and after the merge, but not after its row was deleted", () => {
  const db = openWriter(":memory:");
  const places = new ExampleIdIndex(db, 25);
  const ids = Array.from({ length: 100 }, () => randomUUID());
  const one = db.prepare(selectKeysOfId("?1")).raw();
  const many = db.prepare(selectKeysOfIds("?1")).raw();
  for (let at = 0; at < ids.length; at += 10) {
    insert(db, ids.slice(at, at + 10), at + 1);
    places.add(at, at + 10);
    const keys = ids.slice(0, at + 10).map((_, index) => index + 1);
    expect(new Set(many.all([JSON.stringify(ids)]).flat())).toEqual(new Set(keys));
  }
  expect(count(db, "example_places")).toBe(90);
  expect(count(db, "example_places_new")).toBe(10);
  expect(one.all([ids[98]]).flat()).toEqual([99]);
  db.exec("DELETE FROM examples WHERE key IN (3, 99)");
  expect(one.all([ids[2]]).flat()).toEqual([]);
  expect(one.all([ids[98]]).flat()).toEqual([]);
  expect(count(db, "example_places") + count(db, "example_places_new")).toBe(98);
});

test("examples of a database older than the index of ids are found by their ids", async () => {
  const folder = await temporaryFolder();
  const [tenantId, datasetId, id] = [randomUUID(), randomUUID(), randomUUID()];
  const db = openDatabase(`${folder}/millrace.db`);
  db.exec(formatMigrations.slice(0, 6).join(""));
  db.prepare("INSERT INTO settings VALUES ('tenant_id', ?)").run([tenantId]);
  db.prepare(
    `INSERT INTO datasets (id, tenant_id, name_json, created_us, modified_us, version_us, example_count, is_ready, body)
     VALUES (?, ?, '"old"', 1, 1, 1, 1, 1, '{}')`,
  ).run([datasetId, tenantId]);
  db.prepare(
    `INSERT INTO examples (tenant_id, dataset_id, id, position, created_us, from_us, inputs, metadata)
     VALUES (?, ?, ?, 1, 1, 1, '{"kept":1}', '{"dataset_split":["base"]}')`,
  ).run([tenantId, datasetId, id]);
  db.exec("PRAGMA user_version = 6");
  db.close();
  const store = await openSqliteStore(folder);
  expect(await store.read.examples.find(tenantId, id, null)).toMatchObject({
    inputs: '{"kept":1}',
  });
  expect(await store.write.examples.deleteMany(tenantId, [id], "soft")).toEqual([id]);
  await store.close();
});
