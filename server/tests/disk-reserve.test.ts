import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSqliteStore } from "../dist/store/sqlite/sqlite-store.js";
import { DiskReserve } from "../src/store/sqlite/disk-reserve.ts";
import { temporaryFolder } from "./support/running-server.ts";

test("a server lays room by for deletions, which is given up once and laid by again", async () => {
  const folder = await temporaryFolder();
  await (await openSqliteStore(folder)).close();
  const path = join(folder, "millrace.reserve");
  expect(statSync(path).size).toBe(4_194_304);
  const reserve = new DiskReserve(join(folder, "millrace.db"));
  expect([reserve.release(), reserve.release()]).toEqual([true, false]);
  expect(existsSync(path)).toBe(false);
  reserve.fill();
  expect(existsSync(path)).toBe(true);
});
