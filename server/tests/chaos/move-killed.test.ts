import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { createTenantBackup, PostgresKeyStore, restoreTenant, startServer } from "@millrace/server";
import type { MoveResult, RunningServer } from "@millrace/server";
import { Client } from "millrace";
import { describe, expect, onTestFinished, test } from "vitest";
import { createTestDatabase, testServerUrl } from "../support/postgres-server.ts";
import type { TestDatabase } from "../support/postgres-server.ts";
import { call, temporaryFolder } from "../support/running-server.ts";

const program = fileURLToPath(new URL("../support/move-folder.mjs", import.meta.url));

/** Runs a move. With `killAt` it stands still after such a line, and is killed there. */
async function move(dataDir: string, store: string, killAt?: string) {
  const args = [program, dataDir, store, ...(killAt === undefined ? [] : [killAt])];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
    if (killAt !== undefined && output.includes(killAt)) {
      child.kill("SIGKILL");
    }
  });
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  return { code, signal, lines: output.trim().split("\n"), errors };
}

async function createDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  return database;
}

/** Records until it is stopped, and keeps what it recorded. */
function startRecording(client: Client) {
  const recorded = new Map<string, string>();
  const timer = setInterval(() => {
    const question = randomUUID();
    const run = client.startRun({ name: "answer", inputs: { question } });
    run.end({ answer: `${question}!` });
    recorded.set(run.id, question);
  }, 20);
  onTestFinished(() => clearInterval(timer));
  return { recorded, stop: () => clearInterval(timer) };
}

interface ReadRun {
  readonly id: string;
  readonly inputs: unknown;
  readonly outputs: unknown;
}

/** All runs of a project, in pages. A run that was stored twice would be in them twice. */
async function readRuns(server: Pick<RunningServer, "url">): Promise<readonly ReadRun[]> {
  const projects = await call(server, "GET /sessions?name=moved");
  const session = [projects.json[0]?.["id"]];
  const runs: ReadRun[] = [];
  for (let cursor: unknown = undefined; cursor !== null;) {
    const body = { session, limit: 100, ...(cursor === undefined ? {} : { cursor }) };
    const { json } = await call(server, "POST /runs/query", { body });
    runs.push(...(json["runs"] as unknown as ReadRun[]));
    cursor = (json["cursors"] as unknown as { next: string | null }).next;
  }
  return runs;
}

describe.skipIf(testServerUrl === undefined)("a move to PostgreSQL", () => {
  test("that is killed while it copies and while it switches loses nothing of what the SDK records meanwhile", async () => {
    const { url: store } = await createDatabase();
    const dataDir = await temporaryFolder();
    const first = await startServer({ port: 0, dataDir });
    onTestFinished(() => first.close());
    const client = new Client({
      endpoint: first.url,
      projectName: "moved",
      logger: { warn: () => undefined },
    });
    onTestFinished(async () => void (await client.close({ timeoutMs: 0 })));
    const { recorded, stop } = startRecording(client);
    await expect
      .poll(async () => (await call(first, "GET /sessions?name=moved")).text, { timeout: 30_000 })
      .toContain('"moved"');

    expect(await move(dataDir, store, "copying attachments")).toMatchObject({ signal: "SIGKILL" });
    await expect(startServer({ port: 0, dataDir, store })).rejects.toThrow("is not complete");
    expect(await move(dataDir, store, "refusing writes")).toMatchObject({ signal: "SIGKILL" });
    const moved = await move(dataDir, store);
    expect([moved.code, moved.errors]).toEqual([0, ""]);
    const result = JSON.parse(moved.lines.at(-1) ?? "") as MoveResult;
    expect(result.tenants).toBe(1);

    // The old server refuses what arrives now, and the SDK keeps it until the new one listens.
    const refused = await call(first, "POST /sessions", { body: { name: "late" } });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    const port = Number(new URL(first.url).port);
    await first.close();
    const second = await startServer({ port, dataDir, store });
    onTestFinished(() => second.close());
    const atSwitch = recorded.size;
    await expect.poll(() => recorded.size, { timeout: 30_000 }).toBeGreaterThan(atSwitch + 50);
    stop();
    await client.flush({ timeoutMs: 60_000 });
    expect(client.stats()).toMatchObject({ pending: 0, lost: {} });
    const runs = await readRuns(second);
    const isIntact = ({ id, inputs, outputs }: ReadRun): boolean => {
      const question = recorded.get(id);
      const expected = [{ question }, { answer: `${question}!` }];
      return JSON.stringify([inputs, outputs]) === JSON.stringify(expected);
    };
    expect(runs.filter((run) => !isIntact(run))).toEqual([]);
    expect([runs.length, new Set(runs.map(({ id }) => id)).size]).toEqual([
      recorded.size,
      recorded.size,
    ]);
    expect((await move(dataDir, store)).errors).toContain("the database has tenants already");
  }, 240_000);

  test("has keys that the command manages, and tenants that go back to SQLite", async () => {
    const { url: store } = await createDatabase();
    const dataDir = await temporaryFolder();
    const server = await startServer({ port: 0, dataDir, store });
    onTestFinished(() => server.close());
    const statusWith = async (key: string): Promise<number> =>
      (await call(server, "GET /settings", { headers: { "x-api-key": key } })).status;
    const keys = await PostgresKeyStore.open(store);
    onTestFinished(() => keys.close());
    const { id, key } = await keys.create({ tenant: "acme" });
    expect([await statusWith(key), await statusWith("mr_wrong")]).toEqual([200, 401]);
    const created = await call(server, "POST /sessions", {
      body: { name: "kept" },
      headers: { "x-api-key": key },
    });
    expect(created.status).toBe(200);

    const file = join(dataDir, "acme.backup");
    const { tables } = await createTenantBackup(file, { tenant: "acme", dataDir, store });
    const other = await temporaryFolder();
    const restored = await restoreTenant(file, { tenant: "acme", dataDir: other });
    expect(restored.tables).toEqual(tables);
    const copy = await startServer({ port: 0, dataDir: other });
    onTestFinished(() => copy.close());
    const read = await call(copy, "GET /sessions", { headers: { "x-api-key": key } });
    expect(read.json[0]).toMatchObject({ name: "kept" });

    // Into PostgreSQL, only where it replaces what the tenant has.
    await expect(restoreTenant(file, { tenant: "acme", dataDir, store })).rejects.toThrow(
      "has data already",
    );
    await restoreTenant(file, { tenant: "acme", dataDir, store, replace: true });
    expect(
      (await call(server, "GET /sessions", { headers: { "x-api-key": key } })).json[0],
    ).toMatchObject({
      name: "kept",
    });
    await keys.revoke(id);
    expect(await statusWith(key)).toBe(401);
  }, 120_000);
});
