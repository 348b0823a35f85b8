import { statSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { DiskReserve, isDiskFull, computeReserveBytes } from "../disk-reserve.ts";
import { DiskSpace, noAddedSize } from "../disk-space.ts";
import { openWriter } from "../../../store/schema.ts";
import { databaseFileName } from "../open-database.ts";
import { temporaryFolder } from "../../../../tests/support/running-server.ts";

const mebibyte = 1_048_576;
const gibibyte = 1_024 * mebibyte;
const small = { bytes: mebibyte, rowCount: 100 };

/** A database on a disk of 100 GiB; the test decides how much of it is free. */
async function openRoom(freeBytes: number) {
  const path = join(await temporaryFolder(), databaseFileName);
  const db = openWriter(path);
  const disk = { freeBytes };
  const changes: (string | undefined)[] = [];
  const warnings = vi.spyOn(process, "emitWarning").mockReturnValue();
  const room = new DiskSpace(db, path, {
    onChange: (reason) => changes.push(reason),
    readUse: () => ({ totalBytes: 100 * gibibyte, freeBytes: disk.freeBytes }),
  });
  onTestFinished(() => {
    room.close();
    db.close();
    warnings.mockRestore();
  });
  return { db, path, disk, room, changes, warnings, reserve: new DiskReserve(path) };
}

test.each([
  ["4 MiB on a small disk", 48 * mebibyte, 4],
  ["a 64th", gibibyte, 16],
  ["32 MiB at the most", 100 * gibibyte, 32],
])("the reserve is %s", (_title, totalBytes, mebibytes) => {
  expect(computeReserveBytes({ totalBytes, freeBytes: 0 })).toBe(mebibytes * mebibyte);
});

test("a full disk accepts only deletions, reports that once, and accepts all writes again when space is free", async () => {
  const { disk, room, changes, warnings } = await openRoom(2 * gibibyte);
  expect(room.checkSpaceFor(small)).toBeUndefined();
  disk.freeBytes = 20 * mebibyte;
  // A measurement of the free space is reused for a quarter of a second.
  await expect.poll(() => room.checkSpaceFor(small)?.status, { timeout: 5_000 }).toBe(503);
  expect(room.checkSpaceFor(small)).toMatchObject({
    retryAfterSeconds: 10,
    message: expect.stringContaining("20.0 MiB are free") as string,
  });
  expect(changes).toEqual([room.reason]);
  disk.freeBytes = 90 * mebibyte;
  room.restoreReserve();
  expect(room.checkSpaceFor(small)).toBeUndefined();
  expect(changes).toEqual([expect.any(String), undefined]);
  expect(warnings).toHaveBeenCalledTimes(2);
});

test("the read-only mode starts and ends without writes", async () => {
  const { disk, room } = await openRoom(2 * gibibyte);
  disk.freeBytes = 0;
  await expect.poll(() => room.reason, { timeout: 5_000 }).toContain("0.0 MiB are free");
  disk.freeBytes = 2 * gibibyte;
  await expect.poll(() => room.reason, { timeout: 5_000 }).toBeUndefined();
});

test("what the log will add to the database counts as used, and a checkpoint runs before a write is refused", async () => {
  const { db, path, disk, room } = await openRoom(600 * mebibyte);
  const sizeBefore = statSync(path).size;
  db.exec("CREATE TABLE t (b BLOB); INSERT INTO t VALUES (zeroblob(20000000))");
  expect(statSync(path).size).toBe(sizeBefore);
  disk.freeBytes = 50 * mebibyte;
  expect(room.checkSpaceFor(noAddedSize)).toBeUndefined();
  expect(statSync(path).size).toBeGreaterThan(20_000_000);
});

test("free pages in the database count as space: half of the reserve then serves the log", async () => {
  const { db, path, disk, room, reserve } = await openRoom(2 * gibibyte);
  db.exec("CREATE TABLE t (b BLOB)");
  for (let count = 0; count < 5; count += 1) {
    db.exec("INSERT INTO t VALUES (zeroblob(20000000))");
  }
  await expect.poll(() => reserve.bytes, { timeout: 10_000 }).toBe(32 * mebibyte);
  disk.freeBytes = 0;
  await expect.poll(() => room.reason, { timeout: 5_000 }).toBeDefined();
  db.exec("DELETE FROM t");
  room.restoreReserve();
  expect(reserve.bytes).toBe(16 * mebibyte);
  expect(room.checkSpaceFor(small)?.status).toBe(503);
  // The space that the reserve released is free now.
  disk.freeBytes = 16 * mebibyte;
  room.restoreReserve();
  expect(room.checkSpaceFor(small)).toBeUndefined();
  expect(statSync(path).size).toBeGreaterThan(100_000_000);
});

test("a write that is too large for the free space is refused, and so are all others until it would fit", async () => {
  const { disk, room } = await openRoom(200 * mebibyte);
  const large = { bytes: 150 * mebibyte, rowCount: 10 };
  expect(room.checkSpaceFor(small)).toBeUndefined();
  expect(room.checkSpaceFor(large)?.status).toBe(503);
  expect(room.checkSpaceFor(small)?.status).toBe(503);
  disk.freeBytes = 500 * mebibyte;
  room.restoreReserve();
  expect(room.checkSpaceFor(large)).toBeUndefined();
});

test("a disk-full error of SQLite makes the store read-only even if the disk reports free space", async () => {
  const { db, path, room } = await openRoom(2 * gibibyte);
  db.exec("CREATE TABLE t (b BLOB); PRAGMA max_page_count = 200");
  const insert = db.prepare("INSERT INTO t VALUES (zeroblob(10000000)) RETURNING 1");
  const failures = [() => insert.run(), () => insert.all()].map((fail) => {
    try {
      fail();
      return undefined;
    } catch (cause) {
      return cause;
    }
  });
  for (const cause of failures) {
    expect(isDiskFull(cause, dirname(path))).toBe(true);
  }
  expect(room.handleIfFull(new Error("another"), small)).toBe(false);
  expect(room.handleIfFull(failures[0], small)).toBe(true);
  expect(room.checkSpaceFor(small)?.status).toBe(503);
  expect(room.createFailure()).toMatchObject({ status: 503, retryAfterSeconds: 10 });
  // A deletion still gets the reserve.
  expect([room.releaseReserve(), room.releaseReserve()]).toEqual([true, false]);
});

test("the reserve can be released in parts, and can't be compressed by a file system", async () => {
  const { reserve } = await openRoom(2 * gibibyte);
  expect(reserve.bytes).toBe(4 * mebibyte);
  expect([reserve.shrink(mebibyte), reserve.shrink(mebibyte)]).toEqual([true, false]);
  expect(reserve.bytes).toBe(mebibyte);
  expect(reserve.grow(mebibyte)).toBe(true);
  expect(reserve.bytes).toBe(2 * mebibyte);
  expect([reserve.release(), reserve.bytes]).toEqual([true, 0]);
});
