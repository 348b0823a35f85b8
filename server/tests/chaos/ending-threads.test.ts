import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { checkLog } from "../../src/storage/sqlite/log-check.ts";
import { databaseFile } from "../../src/storage/sqlite/open-database.ts";
import { temporaryFolder } from "../support/running-server.ts";

const run = promisify(execFile);
const dist = fileURLToPath(new URL("../../dist/", import.meta.url));

// A thread that is terminated while SQLite works in it ends the process with exit code 134 (`Napi::Error`).
test("a store that is closed 30 times in the middle of queries, writes and indexing ends no process", async () => {
  const script = fileURLToPath(new URL("../support/close-under-load.mjs", import.meta.url));
  const folder = join(await temporaryFolder(), "data");
  const { stdout } = await run(process.execPath, [script, folder, "30"], { timeout: 170_000 });
  const { answered, ended } = JSON.parse(stdout) as Record<"answered" | "ended", number>;
  // All of them, and some were ended in the middle: else this shows nothing.
  expect(answered + ended).toBe(30 * 2 + 29 * 6 + 1);
  expect(ended).toBeGreaterThan(100);
}, 180_000);

test("process.exit() in the middle of a query ends with its own code", async () => {
  const script = fileURLToPath(new URL("../support/exit-under-load.mjs", import.meta.url));
  const folder = join(await temporaryFolder(), "data");
  const failure: unknown = await run(process.execPath, [script, folder]).catch(
    (cause: unknown) => cause,
  );
  expect(failure).toMatchObject({ code: 3, stdout: "202" });
  // It was closed in order: the log is empty.
  expect(checkLog(join(folder, databaseFile)).isEmpty).toBe(true);
}, 30_000);

test("the threads that may be terminated at any time load no SQLite", async () => {
  const program = `
    import { Worker } from "node:worker_threads";
    const worker = new Worker(${JSON.stringify(join(dist, "work.worker.js"))}, { execArgv: [] });
    await new Promise((resolve) => worker.once("message", resolve));
    console.log(JSON.stringify(process.report.getReport().sharedObjects));
    process.exit();`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", program]);
  const libraries = (JSON.parse(stdout) as string[]).filter((name) => name.includes("sqlite"));
  expect(libraries).toEqual([]);
});
