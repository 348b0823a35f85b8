// Runs a command with a PostgreSQL server of its own, which `MILLRACE_TEST_POSTGRES` names. Tests that need a real server
// are skipped without that variable: `node --import tsx tests/cluster/with-postgres.ts COMMAND…`. In CI the server must
// be there; elsewhere the command runs without it if PostgreSQL is not installed.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { Processes } from "./processes.ts";
import { hasPostgres, startPostgres } from "./single-postgres.ts";

/** Tests create many databases and crash their clients. The data is worth nothing after them. */
const settings = { max_connections: "300", shared_buffers: "256MB", fsync: "off" };

const [command, ...args] = process.argv.slice(2);
if (command === undefined) {
  throw new Error("name the command to run with PostgreSQL, such as vitest run --project server");
}
if (hasPostgres || process.env["CI"] !== undefined) {
  await runWithPostgres();
} else {
  console.warn("PostgreSQL 15 is not installed, so the tests that need it are skipped.");
  await run({});
}

async function runWithPostgres(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-postgres-"));
  // PostgreSQL runs as another user, and must reach its folder in this one.
  chmodSync(folder, 0o755);
  try {
    await using processes = new Processes(folder);
    const { url } = await startPostgres(processes, settings);
    await run({ MILLRACE_TEST_POSTGRES: url });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function run(env: Readonly<Record<string, string>>): Promise<void> {
  const child = spawn(String(command), args, {
    stdio: "inherit",
    env: { ...process.env, ...env },
  });
  const [code] = (await once(child, "exit")) as [number | null];
  process.exitCode = code ?? 1;
}
