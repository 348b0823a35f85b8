import { expect, test } from "vitest";
import { openWriter } from "../../../store/schema.ts";
import type { Connection } from "../../../storage/sqlite/connection.ts";
import { computeChecksum } from "../../../storage/sqlite/checksum.ts";
import { PayloadReader } from "../../sqlite/payload-reader.ts";
import { SqliteSharedTexts } from "../sqlite-shared-texts.ts";

const tenantId = "one";
const body = Buffer.from(JSON.stringify({ inputs: { text: "repeats ".repeat(100) } }));

function insert(db: Connection, id: string, digest = ""): boolean {
  const start = body.indexOf('"repeats');
  const end = body.length - 2;
  const payload = { traceId: "t", id, digest, body, checksum: computeChecksum(body, id) };
  const text = { start, end, hashes: ["Thash"], ends: [end], isRepeated: true };
  return new SqliteSharedTexts(db).insertPayload(tenantId, payload, [text]);
}
const listUses = (db: Connection): readonly unknown[] =>
  db.prepare("SELECT uses FROM shared_texts ORDER BY id").raw().all().flat();

test("a text that lost its last use is used again, or deleted", () => {
  const db = openWriter(":memory:");
  const texts = new SqliteSharedTexts(db);
  expect(insert(db, "a")).toBe(true);
  db.exec("DELETE FROM payloads WHERE id = 'a'");
  expect(listUses(db)).toEqual([0]);
  insert(db, "b");
  expect(texts.deleteUnused()).toBe(0);
  expect(listUses(db)).toEqual([1]);
  expect(new PayloadReader(db).read({ traceId: "t", id: "b" })).toEqual([body]);
  db.exec("DELETE FROM payloads WHERE id = 'b'");
  expect(texts.deleteUnused()).toBe(1);
  expect(listUses(db)).toEqual([]);
  db.close();
});

test("a payload that is received again counts once, and each payload of a run counts", () => {
  const db = openWriter(":memory:");
  expect([insert(db, "a"), insert(db, "a"), insert(db, "a", "patch")]).toEqual([true, false, true]);
  expect(listUses(db)).toEqual([2]);
  db.exec("DELETE FROM payloads");
  expect(listUses(db)).toEqual([0]);
  db.close();
});

test("a text that is only stored for a payload that exists already is deleted by the next sweep", () => {
  const db = openWriter(":memory:");
  db.prepare("INSERT INTO payloads (trace_id, id, digest, body) VALUES ('t', 'a', '', '{}')").run();
  expect(insert(db, "a")).toBe(false);
  expect(new SqliteSharedTexts(db).deleteUnused()).toBe(1);
  db.close();
});

test("a transaction that is rolled back leaves neither texts nor uses", () => {
  const db = openWriter(":memory:");
  insert(db, "a");
  db.exec("BEGIN");
  insert(db, "b");
  db.exec("ROLLBACK");
  expect(listUses(db)).toEqual([1]);
  db.close();
});

test("a payload whose text is damaged or missing is not returned", () => {
  const db = openWriter(":memory:");
  insert(db, "a");
  const read = () => new PayloadReader(db).read({ traceId: "t", id: "a" });
  expect(read()).toEqual([body]);
  db.exec("UPDATE shared_texts SET body = replace(body, 'repeats', 'repeatz')");
  expect(read()).toEqual([]);
  db.exec("DELETE FROM shared_texts");
  expect(read()).toEqual([]);
  db.close();
});
