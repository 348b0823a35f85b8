import { spawnSync } from "node:child_process";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { DamageWatch } from "../../../../dist/storage/sqlite/damage.js";
import { openSqliteStore } from "../../../../dist/store/sqlite-store.js";
import { checkLog } from "../log-check.ts";
import { openWriter } from "../../../store/schema.ts";
import { databaseFileName } from "../open-database.ts";
import { openDatabase } from "../connection.ts";
import { eraseLog, checkpointAndTruncate } from "../write-ahead-log.ts";
import type { Connection } from "../connection.ts";
import { StoreFixture } from "../../../../tests/support/store-fixture.ts";
import { call, runServer, temporaryFolder } from "../../../../tests/support/running-server.ts";
import { wireRun } from "../../../../tests/support/wire-runs.ts";

/** The files of a server that was killed with 30 commits in its log. */
async function killedFolder(): Promise<string> {
  const [from, to] = [await temporaryFolder(), await temporaryFolder()];
  const db = openWriter(join(from, databaseFileName));
  for (let i = 0; i < 30; i += 1) {
    db.prepare("INSERT INTO settings VALUES (?, ?)").run([`key ${i}`, "x".repeat(20_000)]);
  }
  for (const name of [databaseFileName, `${databaseFileName}-wal`]) {
    writeFileSync(join(to, name), readFileSync(join(from, name)));
  }
  db.close();
  return to;
}

const pageBytes = 16_384 + 24;

/** Flips one bit of a file. */
function flip(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] = (bytes[at] ?? 0) ^ 4;
  writeFileSync(path, bytes);
}

describe("the log of a killed server", () => {
  test("can be read completely", async () => {
    const path = join(await killedFolder(), databaseFileName);
    expect(checkLog(path)).toEqual({ isEmpty: false, lostPageCount: 0 });
  });

  test("is empty if the server closed it, or if there is none", async () => {
    const folder = await temporaryFolder();
    await (await openSqliteStore(folder)).close();
    expect(checkLog(join(folder, databaseFileName)).isEmpty).toBe(true);
    expect(checkLog(join(folder, "none.db"))).toEqual({ isEmpty: true, lostPageCount: 0 });
  });

  test("with one flipped bit is reported to have lost everything after that bit", async () => {
    const path = join(await killedFolder(), databaseFileName);
    const pages = Math.floor(readFileSync(`${path}-wal`).length / pageBytes);
    flip(`${path}-wal`, 32 + (pages - 20) * pageBytes + 500);
    expect(checkLog(path)).toEqual({ isEmpty: false, lostPageCount: 20 });
    // SQLite ignores the same commits, but without an error.
    const db = openDatabase(path);
    const [[kept] = []] = db
      .prepare("SELECT count(*) FROM settings WHERE key LIKE 'key %'")
      .raw()
      .all() as number[][];
    db.close();
    expect(kept).toBeLessThan(30);
  });

  test("that ends within a commit has lost nothing, because that commit was never acknowledged", async () => {
    const path = join(await killedFolder(), databaseFileName);
    const log = readFileSync(`${path}-wal`);
    writeFileSync(`${path}-wal`, log.subarray(0, log.length - 2_000));
    expect(checkLog(path).lostPageCount).toBe(0);
  });

  test("is reported when the server starts", async () => {
    const folder = await killedFolder();
    const log = join(folder, `${databaseFileName}-wal`);
    const pages = Math.floor(readFileSync(log).length / pageBytes);
    flip(log, 32 + (pages - 20) * pageBytes + 500);
    const server = new URL("../../../../dist/index.js", import.meta.url).href;
    const program = `const { startServer } = await import(${JSON.stringify(server)});
      await (await startServer({ port: 0, dataDir: ${JSON.stringify(folder)} })).close();`;
    const { stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
      encoding: "utf8",
    });
    expect(stderr).toContain("millrace.db-wal is damaged: its last 20 pages can't be read");
  });
});

describe("a damaged database", () => {
  test("is detected in the background after a server was killed, before a request reads the damage", async () => {
    const folder = await killedFolder();
    const path = join(folder, databaseFileName);
    const db = openWriter(path);
    db.exec("INSERT INTO shares VALUES ('digest', 'sealed', 't', 'r')");
    const root = rootOf(db, "comparatives");
    checkpointAndTruncate(db);
    db.close();
    overwrite(path, root);
    // As after a killed server: a log file whose pages change nothing.
    const killed = openWriter(path);
    killed.exec("UPDATE shares SET trace_id = 'u'");
    for (const name of [databaseFileName, `${databaseFileName}-wal`]) {
      writeFileSync(join(folder, `${name}.copy`), readFileSync(join(folder, name)));
    }
    killed.close();
    for (const name of [databaseFileName, `${databaseFileName}-wal`]) {
      renameSync(join(folder, `${name}.copy`), join(folder, name));
    }
    const server = await runServer({ dataDir: folder });
    await expect
      .poll(async () => (await call(server, "POST /runs", { body: wireRun() })).text, {
        timeout: 10_000,
      })
      .toContain("is damaged");
  });

  test("can be closed at once while it is being checked; the check then ends", async () => {
    const path = join(await temporaryFolder(), databaseFileName);
    const db = openWriter(path);
    db.exec("CREATE TABLE large (text TEXT)");
    db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
      INSERT INTO large SELECT hex(zeroblob(4000)) FROM n`);
    db.close();
    const warned = vi.spyOn(process, "emitWarning");
    for (let turn = 0; turn < 5; turn += 1) {
      const watch = new DamageWatch(path);
      watch.checkInBackground();
      await watch.close();
      await watch.close();
      expect(watch.reason).toBeUndefined();
    }
    expect(warned).not.toHaveBeenCalled();
    // No process of the check is still reading: the log can be truncated.
    const alone = openWriter(path);
    alone.exec("INSERT INTO large VALUES ('last')");
    expect(eraseLog(alone)).toBe(true);
    alone.close();
  });

  test("refuses writes with the reason, and still answers queries", async () => {
    const folder = await temporaryFolder();
    const store = await openSqliteStore(folder);
    const fixture = new StoreFixture(store);
    for (let i = 0; i < 20; i += 1) {
      await fixture.send({ post: [wireRun({ inputs: { text: "y".repeat(30_000) } })] });
    }
    await store.close();
    const path = join(folder, databaseFileName);
    const db = openDatabase(path);
    const root = rootOf(db, "runs_by_id");
    db.close();
    overwrite(path, root);
    const server = await runServer({ dataDir: folder });
    const send = () => call(server, "POST /runs", { body: wireRun() });
    const first = await send();
    expect(first.status).toBe(503);
    const second = await send();
    expect([second.status, second.text]).toEqual([503, expect.stringContaining("is damaged")]);
    expect((await call(server, "GET /info")).status).toBe(200);
  });
});

/** The number of the first page of a table or an index. */
const rootOf = (db: Connection, name: string): number =>
  Number(
    db.prepare("SELECT rootpage FROM sqlite_master WHERE name = ?").raw().all([name]).flat()[0],
  );

function overwrite(path: string, page: number): void {
  const bytes = readFileSync(path);
  bytes.fill(0xff, (page - 1) * 16_384, page * 16_384);
  writeFileSync(path, bytes);
}
