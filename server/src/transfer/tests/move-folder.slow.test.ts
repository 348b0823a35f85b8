import { join } from "node:path";
import { KeyStore } from "@millrace/server";
import { expect, onTestFinished, test } from "vitest";
import { PgliteClient } from "../../../tests/support/repository-engines.ts";
import { call, runServer, temporaryFolder } from "../../../tests/support/running-server.ts";
import { patchOf } from "../../../tests/support/store-fixture.ts";
import { createNames, createResources } from "../../../tests/support/tenant-story.ts";
import type { SendRequest } from "../../../tests/support/tenant-story.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";
import { migrate } from "../../storage/postgres/migrations.ts";
import { postgresFormats } from "../../store/postgres/formats.ts";
import { assertNoMove } from "../../store/postgres/move-progress.ts";
import type {
  PostgresClient,
  PostgresRows,
  PostgresStatement,
} from "../../storage/postgres/postgres-client.ts";
import { openSecondWriter } from "../../store/schema.ts";
import { ChangeLog } from "../move/change-log.ts";
import { abandonMove, moveDatabase } from "../move/move-folder.ts";

/** A connection that calls a function before each statement, which may throw. */
class WatchedClient implements PostgresClient {
  readonly #client: PostgresClient;
  readonly #onStatement: (text: string) => Promise<void>;

  constructor(client: PostgresClient, onStatement: (text: string) => Promise<void>) {
    this.#client = client;
    this.#onStatement = onStatement;
  }

  async run(statement: PostgresStatement): Promise<PostgresRows> {
    await this.#onStatement(statement.text);
    return this.#client.run(statement);
  }

  async exec(sql: string): Promise<void> {
    await this.#onStatement(sql);
    await this.#client.exec(sql);
  }
}

async function openDatabase(): Promise<PgliteClient> {
  const client = await PgliteClient.create();
  onTestFinished(() => client.close());
  return client;
}

async function startTenants() {
  const dataDir = await temporaryFolder();
  const keys = new KeyStore(dataDir);
  const created = await Promise.all(["me", "you"].map((tenant) => keys.create({ tenant })));
  keys.close();
  const server = await runServer({ dataDir });
  const [me, you] = created.map(
    ({ key }): SendRequest =>
      (target, { body, headers } = {}) =>
        call(server, target, { body, headers: { ...headers, "x-api-key": key } }),
  ) as [SendRequest, SendRequest];
  return { dataDir, server, key: created[0]?.key ?? "", me, you };
}

async function move(
  dataDir: string,
  client: PostgresClient,
  onProgress: (line: string) => void = () => undefined,
) {
  const path = join(dataDir, "millrace.db");
  const db = openSecondWriter(path);
  try {
    return await moveDatabase({ db, client, dataDir, path, onProgress });
  } finally {
    db.close();
  }
}

const errorOf = async (attempt: () => unknown): Promise<string> => {
  try {
    await attempt();
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause);
  }
  return "";
};

test("what two tenants with the same ids have, and what changes while it is copied, is in PostgreSQL afterwards", async () => {
  const { dataDir, server, key, me, you } = await startTenants();
  const names = createNames();
  await createResources(me, names, "quilt");
  const theirs = await createResources(you, names, "prawn");
  const client = await openDatabase();
  const late = wireRun({ session_name: "late" });
  const first = wireRun({ session_name: "first name" });
  await me("POST /runs", { body: first });
  const changes: (() => Promise<unknown>)[] = [
    () => me("POST /runs", { body: late }),
    () => me(`PATCH /runs/${late.id}`, { body: patchOf(late, { outputs: { late: true } }) }),
    () => you(`PATCH /runs/${theirs.root}`, { body: { error: "later" } }),
    () => me(`DELETE /annotation-queues/${names.queue}`),
    () => me(`PATCH /examples/${names.example}`, { body: { outputs: { a: "changed" } } }),
    () => you(`DELETE /datasets/${names.other}`),
    () => me(`PATCH /sessions/${names.experiment}`, { body: { description: "changed" } }),
    () => you(`DELETE /sessions/${names.experiment}`),
    () => me("POST /feedback", { body: { run_id: late.id, key: "k", score: 1 } }),
    () => me("POST /settings/handle", { body: { tenant_handle: "renamed" } }),
  ];
  let statements = 0;
  const statuses: unknown[] = [];
  const watched = new WatchedClient(client, async (text) => {
    // One change each time a table was copied, so that all happen before the end.
    if (text.includes("INSERT INTO settings") && (statements += 1) % 3 === 0) {
      statuses.push(await changes.shift()?.());
    }
  });
  const lines: string[] = [];
  const { tenants, tables, heldMs } = await move(dataDir, watched, (line) => lines.push(line));
  expect(changes).toEqual([]);
  expect([tenants, heldMs > 0]).toEqual([3, true]);
  expect(lines.at(-1)).toBe("servers can be started on PostgreSQL now");
  // The move itself has compared every row; here is what is visible of the changes.
  const count = async (sql: string) => (await client.run({ text: sql, values: [] })).rows;
  expect(await count("SELECT handle FROM tenants WHERE handle IS NOT NULL ORDER BY 1")).toEqual([
    { handle: "renamed" },
    { handle: "you" },
  ]);
  expect(await count(`SELECT count(*) AS payloads FROM payloads WHERE id = '${late.id}'`)).toEqual([
    { payloads: 2 },
  ]);
  expect(await count(`SELECT tenant_id FROM runs WHERE id = '${names.root}'`)).toHaveLength(1);
  expect(await count("SELECT count(*) AS count FROM annotation_queues")).toEqual([{ count: 1 }]);
  expect(tables.find(({ name }) => name === "runs")?.count).toBeGreaterThan(5);
  // Afterwards the folder accepts no writes, and says why; it can still be read.
  const refused = await me("POST /runs", { body: wireRun({ session_name: "p" }) });
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(refused.text).toContain("was moved to PostgreSQL: start the server with --store");
  expect((await me(`GET /runs/${late.id}`)).status).toBe(200);
  const keys = new KeyStore(dataDir);
  expect(await errorOf(() => keys.create())).toContain("was moved to PostgreSQL");
  keys.close();
  await assertNoMove(client);
  await server.close();
  const again = await runServer({ dataDir });
  const restarted = await call(again, `GET /runs/${late.id}`, { headers: { "x-api-key": key } });
  expect(restarted.status).toBe(200);
}, 240_000);

test("a move that ends at any statement continues where it was, and loses nothing of what came meanwhile", async () => {
  const { dataDir, me } = await startTenants();
  for (let index = 0; index < 5; index += 1) {
    await me("POST /runs", { body: wireRun({ session_name: "p" }) });
  }
  const client = await openDatabase();
  await migrate(client, postgresFormats);
  // Ends the move at its 1st, 4th, 9th, ... commit, with a run between two attempts.
  let attempts = 0;
  for (let limit = 1; ; limit += attempts) {
    attempts += 1;
    let commits = 0;
    const failing = new WatchedClient(client, async (text) => {
      if (text.includes("COMMIT") && (commits += 1) > limit) {
        throw new Error("killed");
      }
    });
    const reason = await errorOf(() => move(dataDir, failing));
    if (reason === "") {
      break;
    }
    expect(reason).toContain("killed");
    expect(await errorOf(() => assertNoMove(client))).toContain("is not complete");
    expect((await me("POST /runs", { body: wireRun({ session_name: "p" }) })).status).toBe(202);
  }
  expect(attempts).toBeGreaterThan(3);
  const { rows } = await client.run({ text: "SELECT count(*) AS runs FROM runs", values: [] });
  expect(rows).toEqual([{ runs: 5 + attempts - 1 }]);
  expect(await errorOf(() => move(dataDir, client))).toContain("the database has tenants already");
}, 240_000);

test("a difference is found and named, and the folder stays in use", async () => {
  const { dataDir, me } = await startTenants();
  await me("POST /runs", { body: wireRun({ session_name: "p" }) });
  const client = await openDatabase();
  let isDone = false;
  const damaging = new WatchedClient(client, async (text) => {
    if (!isDone && text.startsWith("DECLARE")) {
      isDone = true;
      await client.exec("UPDATE runs SET name = 'damaged'");
    }
  });
  expect(await errorOf(() => move(dataDir, damaging))).toMatch(
    /the rows of runs of the tenant me differ: the folder has 1, PostgreSQL has 1 with other content/,
  );
  expect((await me("POST /runs", { body: wireRun({ session_name: "p" }) })).status).toBe(202);
  abandonMove(dataDir);
  const db = openSecondWriter(join(dataDir, "millrace.db"));
  const names = db.prepare("SELECT name FROM sqlite_master WHERE name GLOB 'move_*'").all();
  expect([names, new ChangeLog(db).readMark()]).toEqual([[], undefined]);
  db.close();
  expect(await errorOf(() => move(dataDir, client))).toContain("the move was abandoned");
}, 240_000);

test("writes are refused only while a move that switches is alive", async () => {
  const { dataDir, me } = await startTenants();
  const db = openSecondWriter(join(dataDir, "millrace.db"));
  const log = new ChangeLog(db);
  const send = () => me("POST /runs", { body: wireRun({ session_name: "p" }) });
  log.begin("a");
  expect((await send()).status).toBe(202);
  log.refuseWrites("a");
  const held = await send();
  expect([held.status, held.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(held.text).toContain("is being moved to PostgreSQL; retry later");
  // As if the move had ended half a minute ago.
  db.exec(`UPDATE settings SET value = json_set(value, '$.untilMs', 1) WHERE key = 'move'`);
  expect((await send()).status).toBe(202);
  expect(log.complete("a", 0)).toBe(false);
  expect(log.complete("a", log.readLastChange())).toBe(true);
  expect((await send()).status).toBe(503);
  db.close();
  abandonMove(dataDir);
  expect((await send()).status).toBe(202);
}, 60_000);
