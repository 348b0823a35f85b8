import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { checkLog } from "../../src/storage/sqlite/log-check.ts";
import { databaseFileName } from "../../src/storage/sqlite/open-database.ts";
import { temporaryFolder } from "../support/running-server.ts";

const run = promisify(execFile);
const dist = fileURLToPath(new URL("../../dist/", import.meta.url));

// Terminating a thread in which SQLite runs ends the process with exit code 134 (`Napi::Error`).
test("closing a store 30 times during queries, writes and indexing never ends the process", async () => {
  const script = fileURLToPath(new URL("../support/close-under-load.mjs", import.meta.url));
  const folder = join(await temporaryFolder(), "data");
  const { stdout } = await run(process.execPath, [script, folder, "30"], { timeout: 170_000 });
  const { answered, ended } = JSON.parse(stdout) as Record<"answered" | "ended", number>;
  // Every query was counted, and some were canceled: otherwise the test would prove nothing. How many, depends on how
  // fast the machine is: 100 of 235 on a quiet one.
  expect(answered + ended).toBe(30 * 2 + 29 * 6 + 1);
  expect(ended).toBeGreaterThan(30);
}, 180_000);

test("process.exit() during a query ends the process with its own exit code", async () => {
  const script = fileURLToPath(new URL("../support/exit-under-load.mjs", import.meta.url));
  const folder = join(await temporaryFolder(), "data");
  const failure: unknown = await run(process.execPath, [script, folder]).catch(
    (cause: unknown) => cause,
  );
  expect(failure).toMatchObject({ code: 3, stdout: "202" });
  // The store was closed properly: the log is empty.
  expect(checkLog(join(folder, databaseFileName)).isEmpty).toBe(true);
}, 30_000);

test("threads that may be terminated at any time do not load SQLite", async () => {
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
