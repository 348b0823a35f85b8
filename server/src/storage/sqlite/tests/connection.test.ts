import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { describe, expect, test } from "vitest";
import {
  castParameters,
  engineName,
  isSafeVersion,
  isSqliteError,
  openDatabase,
} from "../connection.ts";
import { withinDeadlineSql, withinDeadlineEachTimeSql } from "../query-clock.ts";
import { temporaryFolder } from "../../../../tests/support/running-server.ts";

describe("the SQLite engine", () => {
  test("is not a version that loses pages of the log", () => {
    const db = openDatabase(":memory:");
    const version = String(db.prepare("SELECT sqlite_version()").raw().all().flat()[0]);
    expect(isSafeVersion(version)).toBe(true);
    expect(["3.45.1", "3.51.2", "3.7.0", undefined].map(isSafeVersion)).toEqual(
      Array(4).fill(false),
    );
    expect(["3.51.3", "3.52.0", "4.0.0"].map(isSafeVersion)).toEqual(Array(3).fill(true));
    db.close();
  });

  test("loads without a warning", () => {
    const module = new URL("../../../../dist/storage/sqlite/connection.js", import.meta.url).href;
    const { stderr, stdout } = spawnSync(
      process.execPath,
      ["--input-type=module", "-e", `console.log((await import("${module}")).engineName)`],
      { encoding: "utf8" },
    );
    expect(stdout.trim()).toBe(engineName);
    expect(engineName).toBe(
      isSafeVersion(process.versions["sqlite"]) ? "node:sqlite" : "@photostructure/sqlite",
    );
    expect(stderr).not.toContain("Warning");
  });

  test("stores texts with a NUL completely, and does not change texts inside a statement", () => {
    const db = openDatabase(":memory:");
    db.exec("CREATE TABLE t (n INTEGER, a TEXT, b TEXT)");
    const insert = db.prepare("INSERT INTO t VALUES (?3, ?1, ?2 || '?')");
    insert.run(["a\0b", "c\0d", 7]);
    insert.run(["plain", "text", 8]);
    const rows = db.prepare("SELECT n, CAST(a AS BLOB), CAST(b AS BLOB) FROM t ORDER BY n").raw();
    expect(rows.all().map((row) => (row as unknown[]).map(String))).toEqual([
      ["7", String(Buffer.from("a\0b")), String(Buffer.from("c\0d?"))].map(asBytes),
      ["8", "plain", "text?"].map(asBytes),
    ]);
    expect(db.prepare("SELECT count(*) FROM t WHERE a = ?").raw().all(["a\0b"])).toEqual([[1]]);
    expect(db.prepare("SELECT count(*) FROM t WHERE a = ?").raw().all(["a"])).toEqual([[0]]);
    db.close();
  });

  test("casts only the parameters that need it", () => {
    expect(castParameters("SELECT ?, '?', ?, 'it''s ?', ?1", ["a", "b\0"])).toBe(
      "SELECT ?1, '?', CAST(?2 AS TEXT), 'it''s ?', ?1",
    );
  });

  test("reports errors with a code", () => {
    const db = openDatabase(":memory:");
    db.exec("CREATE TABLE t (a PRIMARY KEY); INSERT INTO t VALUES (1)");
    const fail = (): unknown => db.prepare("INSERT INTO t VALUES (1)").run();
    const cause = causeOf(fail);
    expect(String(cause)).toContain("UNIQUE constraint failed");
    expect([isSqliteError(cause, "constraint"), isSqliteError(cause, "full")]).toEqual([
      true,
      false,
    ]);
    db.close();
  });
});

function causeOf(fail: () => unknown): unknown {
  try {
    return fail();
  } catch (cause) {
    return cause;
  }
}

/** The first column is a number, the others are bytes; `String` prints bytes as numbers separated by commas. */
const asBytes = (text: string, index: number): string =>
  index === 0 ? text : String(new Uint8Array(Buffer.from(text)));

test("a statement is prepared once for the same text, unless many others came between", () => {
  const db = openDatabase(":memory:");
  const first = db.prepareRaw("SELECT ?");
  expect(first.all([1])).toEqual([[1]]);
  for (let at = 0; at < 90; at += 1) {
    db.prepareRaw(`SELECT ${at}, ?`);
  }
  expect(db.prepareRaw("SELECT ?")).toBe(first);
  for (let at = 0; at < 99; at += 1) {
    db.prepareRaw(`SELECT ${at}, ?`);
  }
  expect(db.prepareRaw("SELECT ?")).toBe(first);
  for (let at = 0; at < 100; at += 1) {
    db.prepareRaw(`SELECT ${at}, ?`);
  }
  expect(db.prepareRaw("SELECT ?")).not.toBe(first);
  expect(db.prepareRaw("SELECT ?").all([2])).toEqual([[2]]);
  db.close();
});

test("a repeated statement that was ended by its limit is not left running", async () => {
  const file = join(await temporaryFolder(), "t.db");
  const writer = openDatabase(file);
  writer.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (x)");
  writer.exec("INSERT INTO t SELECT value FROM json_each('[1,2,3]')");
  const db = openDatabase(file);
  const cancelFlag = new Int32Array(new SharedArrayBuffer(4));
  db.defineFunction("end_now", () => {
    Atomics.store(cancelFlag, 0, 1);
    return "1";
  });
  const read = (): Promise<unknown> =>
    db.runLimited({ durationMs: 60_000, cancelFlag }, () =>
      db.prepareRaw(`SELECT x FROM t WHERE end_now() AND ${withinDeadlineEachTimeSql("x")}`).all(),
    );
  await expect(read()).rejects.toThrow("the query was canceled");
  writer.exec("INSERT INTO t VALUES (4)");
  // A read that is still open would keep the log from being emptied: the first value would be 1.
  expect(writer.prepare("PRAGMA wal_checkpoint(TRUNCATE)").raw().all()).toEqual([[0, 0, 0]]);
  db.close();
  writer.close();
});

describe("a query with a limit", () => {
  const rows = `WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1e9)`;
  const long = `${rows} SELECT count(*) FROM n WHERE ${withinDeadlineSql("n.x")}`;

  test("ends at its deadline, and the connection can still be used", async () => {
    const db = openDatabase(":memory:");
    const hasBegun = performance.now();
    const read = (): Promise<unknown> =>
      db.runLimited({ durationMs: 50 }, () => db.prepare(long).raw().all());
    await expect(read()).rejects.toThrow("the query took longer than 50 ms");
    // Allows for a machine that is busy with other work: without the limit the query takes minutes.
    expect(performance.now() - hasBegun).toBeLessThan(2_000);
    const short = db.prepare(long.replace("1e9", "1e3")).raw();
    expect(await db.runLimited({ durationMs: 5_000 }, () => short.all())).toEqual([[1_000]]);
    expect(short.all()).toEqual([[1_000]]);
    db.close();
  });

  test("ends when another thread cancels it", async () => {
    const db = openDatabase(":memory:");
    const cancelFlag = new Int32Array(new SharedArrayBuffer(4));
    const setter = new Worker(
      "const { workerData } = require('node:worker_threads'); setTimeout(() => Atomics.store(workerData, 0, 1), 50)",
      { eval: true, workerData: cancelFlag },
    );
    const read = (): Promise<unknown> =>
      db.runLimited({ durationMs: 60_000, cancelFlag }, () => db.prepare(long).raw().all());
    await expect(read()).rejects.toThrow("the query was canceled");
    expect(Atomics.load(cancelFlag, 0)).toBe(1);
    await setter.terminate();
    db.close();
  });

  test("holds until the promise of its last statement is settled, and no longer", async () => {
    const db = openDatabase(":memory:");
    const read = (): Promise<unknown> =>
      db.runLimited({ durationMs: 50 }, async () => {
        await Promise.resolve();
        return db.prepare(long).raw().all();
      });
    await expect(read()).rejects.toThrow("the query took longer than 50 ms");
    expect(db.prepare(long.replace("1e9", "1e3")).raw().all()).toEqual([[1_000]]);
    db.close();
  });

  test("does not start if it was canceled before", async () => {
    const db = openDatabase(":memory:");
    let hasBegun = false;
    const read = (): Promise<unknown> =>
      db.runLimited(
        { durationMs: 60_000, cancelFlag: new Int32Array(new SharedArrayBuffer(4)).fill(1) },
        () => {
          hasBegun = true;
        },
      );
    await expect(read()).rejects.toThrow("the query was canceled");
    expect(hasBegun).toBe(false);
    db.close();
  });

  test.each([
    ["every row", 1],
    ["one row of two", 2],
    ["one row of 64", 64],
    ["one row of 1,000", 1_000],
  ])("reads the clock about once per 64 rows when the deadline is at %s", async (_which, step) => {
    const file = join(await temporaryFolder(), "t.db");
    const db = openDatabase(file);
    const sql = `WITH RECURSIVE n (x) AS (SELECT 0 UNION ALL SELECT x + ${step} FROM n LIMIT 20000)
      SELECT count(*) FROM n WHERE NOT (${withinDeadlineSql("n.x").replace("OR within_deadline()", "OR 0")})`;
    const asked = Number(db.prepare(sql).raw().all().flat()[0]);
    expect(asked).toBeGreaterThan(150);
    expect(asked).toBeLessThan(900);
    db.close();
  });
});
