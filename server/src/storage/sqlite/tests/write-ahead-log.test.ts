import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { describe, expect, test, vi } from "vitest";
import { Checkpointer } from "../../../../dist/storage/sqlite/checkpointer.js";
import { openWriter as openBuiltWriter } from "../../../../dist/store/schema.js";
import { openSecondWriter, openWriter } from "../../../store/schema.ts";
import { databaseFileName } from "../open-database.ts";
import { openDatabase } from "../connection.ts";
import { writeBackRepeatedly, checkpointAndTruncate, writeBack } from "../write-ahead-log.ts";
import { temporaryFolder } from "../../../../tests/support/running-server.ts";

describe("the log is checkpointed", () => {
  test.each([
    ["once if the log is still short", [4_095], 1],
    [
      "repeatedly while many pages are added during each checkpoint",
      [5_000, 7_000, 7_600, 7_700, 9_999],
      4,
    ],
    ["until the log was reused from its beginning", [9_000, 100, 9_999], 2],
    ["at most five times", [5_000, 7_000, 9_000, 11_000, 13_000, 15_000], 5],
  ])("%s", (_title, pages, count) => {
    let turn = 0;
    const write = () => ({ pageCount: pages[(turn += 1) - 1] ?? 0, isComplete: false });
    expect(writeBackRepeatedly(write).pageCount).toBe(pages[count - 1]);
    expect(turn).toBe(count);
  });

  test("only until all of it is in the database, however long the log is, because the next commit reuses it", () => {
    let turn = 0;
    const write = () => ({ pageCount: 5_000 + 1_000 * turn, isComplete: (turn += 1) === 2 });
    expect(writeBackRepeatedly(write).pageCount).toBe(6_000);
    expect(turn).toBe(2);
  });

  test("and the checkpoint returns whether pages are left", async () => {
    const file = join(await temporaryFolder(), databaseFileName);
    const db = openWriter(file);
    const reader = openDatabase(file);
    const insert = db.prepare("INSERT INTO settings VALUES (?, 'x')");
    insert.run(["one"]);
    reader.exec("BEGIN");
    reader.prepare("SELECT count(*) FROM settings").raw().all();
    insert.run(["two"]);
    expect(writeBack(db).isComplete).toBe(false);
    reader.exec("COMMIT");
    const { pageCount, isComplete } = writeBack(db);
    expect([pageCount > 0, isComplete]).toEqual([true, true]);
    reader.close();
    db.close();
  });

  test("never by a connection of a command that runs next to the server", async () => {
    const file = join(await temporaryFolder(), databaseFileName);
    const db = openWriter(file);
    const second = openSecondWriter(file);
    expect(second.prepare("PRAGMA wal_autocheckpoint").raw().all()).toEqual([[0]]);
    second.close();
    db.close();
  });
});

describe("a log that is moved into the database", () => {
  const insert = "INSERT INTO settings VALUES (?, 'x')";

  test("is empty, and all of it is in the database", async () => {
    const file = join(await temporaryFolder(), databaseFileName);
    const db = openWriter(file);
    db.prepare(insert).run(["one"]);
    checkpointAndTruncate(db);
    expect(statSync(`${file}-wal`).size).toBe(0);
    db.close();
  });

  test("waits at most a second for another reader, and loses nothing", async () => {
    const file = join(await temporaryFolder(), databaseFileName);
    const db = openWriter(file);
    const reader = openDatabase(file);
    const count = (): unknown =>
      reader.prepare("SELECT count(*) FROM settings WHERE value = 'x'").raw().all().flat()[0];
    db.prepare(insert).run(["one"]);
    reader.exec("BEGIN");
    expect(count()).toBe(1);
    db.prepare(insert).run(["two"]);
    checkpointAndTruncate(db);
    expect(db.prepare("PRAGMA busy_timeout").raw().all().flat()).toEqual([1_000]);
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
    db.close();
    expect(count()).toBe(1);
    reader.exec("COMMIT");
    expect(count()).toBe(2);
    reader.close();
  });
});

test("deleted data is erased from the log, even if the checkpoint thread ends meanwhile", async () => {
  const file = join(await temporaryFolder(), databaseFileName);
  const db = openBuiltWriter(file);
  const checkpointer = new Checkpointer(db, file);
  const isInLog = () => readFileSync(`${file}-wal`).includes("a deleted secret");
  // The thread does not get the first request, as if it had ended before it could reply. It then closes by itself: to
  // terminate a thread that uses SQLite could end the process.
  const posted = vi.spyOn(Worker.prototype, "postMessage").mockImplementationOnce(() => undefined);
  db.prepare("INSERT INTO settings VALUES ('one', 'a deleted secret')").run([]);
  checkpointer.addBytes(100_000_000);
  db.prepare("DELETE FROM settings WHERE key = 'one'").run([]);
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  checkpointer.scheduleErase(false);
  vi.advanceTimersByTime(10_000);
  expect(posted.mock.calls).toEqual([["checkpoint"]]);
  const thread = posted.mock.contexts[0] as Worker;
  thread.postMessage("close");
  await once(thread, "exit");
  expect(isInLog()).toBe(true);
  vi.advanceTimersByTime(60_000);
  vi.useRealTimers();
  await expect.poll(isInLog, { timeout: 10_000 }).toBe(false);
  await checkpointer.close();
  db.close();
});
