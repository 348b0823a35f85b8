import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  catchUp,
  databaseFile,
  foldLog,
  openDatabase,
  openWriter,
} from "../src/store/sqlite/schema.ts";
import { temporaryFolder } from "./support/running-server.ts";

describe("the log is written back", () => {
  test.each([
    ["once where it need not begin anew yet", [4_095], 1],
    ["again while much comes meanwhile", [5_000, 7_000, 7_600, 7_700, 9_999], 4],
    ["no more once it has begun anew", [9_000, 100, 9_999], 2],
    ["no more than five times", [5_000, 7_000, 9_000, 11_000, 13_000, 15_000], 5],
  ])("%s", (_when, pages, count) => {
    let turn = 0;
    expect(catchUp(() => pages[(turn += 1) - 1] ?? 0)).toBe(pages[count - 1]);
    expect(turn).toBe(count);
  });
});

describe("a log that is folded", () => {
  const insert = "INSERT INTO settings VALUES (?, 'x')";

  test("is empty, and all of it is in the database", async () => {
    const file = join(await temporaryFolder(), databaseFile);
    const db = openWriter(file);
    db.prepare(insert).run(["one"]);
    foldLog(db);
    expect(statSync(`${file}-wal`).size).toBe(0);
    db.close();
  });

  test("waits for a foreign reader a second at most, and loses nothing", async () => {
    const file = join(await temporaryFolder(), databaseFile);
    const db = openWriter(file);
    const reader = openDatabase(file);
    const count = (): unknown =>
      reader.prepare("SELECT count(*) FROM settings WHERE value = 'x'").raw().all().flat()[0];
    db.prepare(insert).run(["one"]);
    reader.exec("BEGIN");
    expect(count()).toBe(1);
    db.prepare(insert).run(["two"]);
    foldLog(db);
    expect(db.prepare("PRAGMA busy_timeout").raw().all().flat()).toEqual([1_000]);
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
    db.close();
    expect(count()).toBe(1);
    reader.exec("COMMIT");
    expect(count()).toBe(2);
    reader.close();
  });
});
