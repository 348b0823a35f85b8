import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import {
  createConversation,
  createConversationBatches,
  createMessages,
} from "../../../tests/support/long-conversation.ts";
import { openRunStore } from "../../../tests/support/postgres-run-store.ts";
import { PgliteClient } from "../../../tests/support/repository-engines.ts";
import { temporaryFolder } from "../../../tests/support/running-server.ts";
import { patchOf } from "../../../tests/support/store-fixture.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";
import { ChunkedSender } from "../../../tests/support/chunked-runs.ts";
import { loadLibraryPrices } from "../../prices/library-prices.ts";
import { SqliteSharedTexts } from "../../runs/shared-texts/sqlite-shared-texts.ts";
import { PayloadReader } from "../../runs/sqlite/payload-reader.ts";
import type { RunBatch } from "../../runs/run-record.ts";
import type { PostgresClient, PostgresStatement } from "../../storage/postgres/postgres-client.ts";
import { databaseFileName, readDefaultTenantId } from "../../storage/sqlite/open-database.ts";
import { findOrCreateDefaultTenant } from "../../store/postgres/default-tenant.ts";
import { createWriters } from "../../store/repositories.ts";
import { openSecondWriter, openWriter } from "../../store/schema.ts";
import { moveDatabase } from "../move/move-folder.ts";
import { RowTally } from "../portable-row.ts";
import { PostgresRows } from "../postgres-rows.ts";
import { checkTenantFile, writeTenantFile } from "../tenant-backup.ts";
import { createTenantBackup, restoreIntoPostgres, restoreTenant } from "../tenant-transfer.ts";

await loadLibraryPrices();

const turns = 200;
const maxShare = 0.1;
const conversation = createConversation(turns);
const [root = wireRun()] = conversation;
const lastRun = conversation.at(-1) ?? root;
const bodyOf = ({ inputs, outputs, extra }: Record<string, unknown>): string =>
  JSON.stringify({ inputs, outputs, extra });
/** The bytes of all payloads. A database that stores them whole has more. */
const payloadBytes = conversation.reduce((bytes, run) => bytes + bodyOf(run).length, 0);

/** Stores batches in the database of a folder, as a server does, and returns the size of the database in bytes. */
function storeBatches(
  folder: string,
  createBatches: (tenantId: string) => readonly RunBatch[],
): number {
  const path = join(folder, databaseFileName);
  const db = openWriter(path);
  const tenantId = readDefaultTenantId(db);
  const { runs } = createWriters(db);
  for (const batch of createBatches(tenantId)) {
    expect(runs.apply(tenantId, batch).rejected).toEqual([]);
  }
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
  return statSync(path).size;
}

/** Part of a payload in a line of a file: its digest, its body, and where the texts are that it shares. */
type FilePayload = [digest: string, body: string, shared?: unknown];

/** Changes the payloads of a file of a tenant, with sums that match. */
function rewritePayloads(
  from: string,
  to: string,
  change: (payload: FilePayload) => FilePayload,
): void {
  const lines: string[] = [];
  let tally = new RowTally();
  let table = "";
  for (const line of gunzipSync(readFileSync(from)).toString().trimEnd().split("\n")) {
    if (line.startsWith("[")) {
      const cells = JSON.parse(line) as unknown[];
      const row =
        table === "runs"
          ? JSON.stringify([
              ...cells.slice(0, -1),
              (cells.at(-1) as readonly FilePayload[]).map(change),
            ])
          : line;
      tally.add(row);
      lines.push(row);
      continue;
    }
    const mark = JSON.parse(line) as Record<string, unknown>;
    if ("table" in mark) {
      table = String(mark["table"]);
      tally = new RowTally();
    } else if ("end" in mark) {
      mark["sha256"] = tally.digest;
    } else if ("complete" in mark) {
      const content = lines.map((written) => `${written}\n`).join("");
      mark["sha256"] = createHash("sha256").update(content).digest("hex");
    }
    lines.push(JSON.stringify(mark));
  }
  writeFileSync(to, gzipSync(`${lines.join("\n")}\n`, { level: 1 }));
}

/** A file as earlier versions have written it. */
const rewriteAsEarlier = (from: string, to: string): void =>
  rewritePayloads(from, to, ([digest, body]) => [digest, body]);

const measureSqlite = (folder: string): number => statSync(join(folder, databaseFileName)).size;

async function measurePostgres(client: PostgresClient): Promise<number> {
  const { rows } = await client.run({
    text: `SELECT sum(pg_total_relation_size(c.oid))::bigint AS bytes FROM pg_class c
      WHERE c.relkind = 'r' AND c.relname ~ '^(runs|payloads|run_keys|shared_text)'`,
    values: [],
  });
  return Number(rows[0]?.["bytes"]);
}

async function openPostgres(): Promise<PgliteClient> {
  const client = await PgliteClient.createMigrated();
  await findOrCreateDefaultTenant(client);
  return client;
}

/** Restores a file into a new folder. Returns the folder, and by how much it is larger than an empty one. */
async function restoreIntoNewFolder(file: string) {
  const folder = await temporaryFolder();
  const empty = storeBatches(folder, () => []);
  const { tables } = await restoreTenant(file, { dataDir: folder, tenant: "default" });
  storeBatches(folder, () => []);
  return { folder, tables, bytes: measureSqlite(folder) - empty };
}

/** Restores a file into a new tenant. Returns by how much the tables of runs have grown. */
async function restoreIntoNewTenant(client: PostgresClient, file: string, tenant: string) {
  const before = await measurePostgres(client);
  const checked = await checkTenantFile(file);
  const { tenantId, tables } = await restoreIntoPostgres(file, checked, {
    options: { tenant },
    client,
  });
  return { tenantId, tables, bytes: (await measurePostgres(client)) - before };
}

/** Deletes all runs of a folder, and returns how many texts were stored before and after. */
function deleteFromFolder(folder: string): readonly number[] {
  const db = openWriter(join(folder, databaseFileName));
  const count = () => Number(db.prepare("SELECT count(*) FROM shared_texts").raw().all().flat()[0]);
  const before = count();
  const { runs } = createWriters(db);
  const tenantId = readDefaultTenantId(db);
  for (let ids: readonly string[] = [root.id]; ids.length > 0;) {
    ids = runs.deleteTrees(tenantId, ids).remainingIds;
  }
  while (new SqliteSharedTexts(db).deleteUnused() > 0) {
    // A text that is deleted may be the last that continued another one.
  }
  const after = count();
  db.close();
  return [before, after];
}

async function deleteFromPostgres(
  client: PgliteClient,
  tenantId: string,
): Promise<readonly number[]> {
  const store = openRunStore(client);
  const count = async (): Promise<number> => {
    const { rows } = await client.run({
      text: `SELECT (SELECT count(*) FROM shared_texts WHERE tenant_id = $1)
        + (SELECT count(*) FROM shared_text_uses WHERE tenant_id = $1) AS count`,
      values: [tenantId],
    });
    return Number(rows[0]?.["count"]);
  };
  const before = await count();
  for (let ids: readonly string[] = [root.id]; ids.length > 0;) {
    ids = (await store.write.runs.deleteTrees(tenantId, ids)).remainingIds;
  }
  while (
    (await store.transact(async () => store.writer.retention.sharedTexts.deleteUnused())) > 0
  ) {
    // A text that is deleted may be the last that continued another one.
  }
  return [before, await count()];
}

function readFromFolder(folder: string, id: string): readonly string[] {
  const db = openWriter(join(folder, databaseFileName));
  const bodies = new PayloadReader(db).read({ traceId: root.id, id });
  db.close();
  return bodies.map((body) => body.toString());
}

async function readFromPostgres(client: PgliteClient, tenantId: string, id: string) {
  const run = await openRunStore(client).read.runs.find(tenantId, id);
  return (run?.bodies ?? []).map((body) => Buffer.from(body).toString());
}

let source = "";
let file = "";
let earlierFile = "";
beforeAll(async () => {
  source = mkdtempSync(join(tmpdir(), "millrace-shared-"));
  storeBatches(source, (tenantId) => createConversationBatches(tenantId, conversation));
  file = join(source, "shared.backup");
  earlierFile = join(source, "earlier.backup");
  await createTenantBackup(file, { dataDir: source, tenant: "default" });
  rewriteAsEarlier(file, earlierFile);
}, 240_000);
afterAll(() => rmSync(source, { recursive: true, force: true }));

test("a conversation that is restored into SQLite takes at most a tenth of its bytes, and is deleted with its runs", async () => {
  const shared = await restoreIntoNewFolder(file);
  const whole = await restoreIntoNewFolder(earlierFile);
  expect(whole.bytes).toBeGreaterThan(payloadBytes);
  expect(shared.bytes / whole.bytes).toBeLessThan(maxShare);
  // The hashes of the rows cover whole payloads, so they do not depend on how these are stored.
  expect(shared.tables).toEqual(whole.tables);
  for (const { folder } of [shared, whole]) {
    expect(readFromFolder(folder, lastRun.id)).toEqual([bodyOf(lastRun)]);
  }
  expect(deleteFromFolder(whole.folder)).toEqual([0, 0]);
  expect(deleteFromFolder(shared.folder)).toEqual([turns, 0]);
}, 240_000);

test("what a client repeats after a restore continues the texts of the restored tenant", async () => {
  const { folder } = await restoreIntoNewFolder(file);
  const before = measureSqlite(folder);
  // The trace is a new one, and so is the client: only the hashes of the messages are the same.
  const run = wireRun({ inputs: { messages: createMessages(2 * turns) } });
  storeBatches(folder, (tenantId) => [new ChunkedSender(tenantId).createBatch([{ run }])]);
  expect(measureSqlite(folder) - before).toBeLessThan(50_000);
}, 240_000);

describe("in PostgreSQL", () => {
  let client: PgliteClient;
  let wholeBytes = 0;
  beforeAll(async () => {
    client = await openPostgres();
    wholeBytes = (await restoreIntoNewTenant(client, earlierFile, "whole")).bytes;
  }, 240_000);
  afterAll(() => client.close());

  test("a restored conversation takes at most a tenth of its bytes, there and back in SQLite", async () => {
    expect(wholeBytes).toBeGreaterThan(10_000_000);
    const { tenantId, tables, bytes } = await restoreIntoNewTenant(client, file, "shared");
    expect(bytes / wholeBytes).toBeLessThan(maxShare);
    expect(await readFromPostgres(client, tenantId, lastRun.id)).toEqual([bodyOf(lastRun)]);

    const copy = join(await temporaryFolder(), "copy.backup");
    await client.exec("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    await writeTenantFile(new PostgresRows(client), "shared", copy);
    await client.exec("ROLLBACK");
    const back = await restoreIntoNewFolder(copy);
    expect(back.bytes / payloadBytes).toBeLessThan(maxShare);
    expect(back.tables.find(({ name }) => name === "runs")).toEqual(
      tables.find(({ name }) => name === "runs"),
    );
    expect(readFromFolder(back.folder, lastRun.id)).toEqual([bodyOf(lastRun)]);
    expect(deleteFromFolder(back.folder)).toEqual([turns, 0]);
    const [before, after] = await deleteFromPostgres(client, tenantId);
    expect([Number(before) > turns, after]).toEqual([true, 0]);
  }, 240_000);

  test("a conversation that grows while it is moved takes at most a tenth of its bytes", async () => {
    const dataDir = await temporaryFolder();
    const path = join(dataDir, databaseFileName);
    cpSync(join(source, databaseFileName), path);
    const moved = await PgliteClient.create();
    onTestFinished(() => moved.close());
    const db = openSecondWriter(path);
    const server = openWriter(path);
    const tenantId = readDefaultTenantId(server);
    const { runs } = createWriters(server);
    // The client has sent the last turn before.
    const sender = new ChunkedSender(tenantId);
    sender.createBatch([{ run: lastRun }]);
    const inputs = { model: "m", messages: createMessages(2 * turns) };
    const later = wireRun({ parent: root, inputs, outputs: { done: true } });
    const patch = patchOf(lastRun, { inputs, outputs: { patched: true } });
    const changes: (() => void)[] = [
      () => runs.apply(tenantId, sender.createBatch([{ run: later }])),
      () => runs.apply(tenantId, sender.createBatch([{ operation: "patch", run: patch }])),
      () => runs.deleteTrees(tenantId, [conversation[turns / 2]?.id ?? ""]),
    ];
    let statements = 0;
    const watched: PostgresClient = {
      exec: (sql) => moved.exec(sql),
      run: (statement: PostgresStatement) => {
        // The runs were copied when their table is followed by others.
        if (statement.text.includes("INSERT INTO settings") && (statements += 1) % 10 === 0) {
          changes.shift()?.();
        }
        return moved.run(statement);
      },
    };
    const { tables } = await moveDatabase({
      db,
      client: watched,
      dataDir,
      path,
      onProgress: () => undefined,
    });
    db.close();
    server.close();
    expect(changes).toEqual([]);
    expect(tables.find(({ name }) => name === "runs")?.count).toBe(turns + 1);
    expect((await measurePostgres(moved)) / wholeBytes).toBeLessThan(maxShare);
    const read = (id: string) => readFromPostgres(moved, tenantId, id);
    expect(await read(lastRun.id)).toEqual(readFromFolder(dataDir, lastRun.id));
    expect(await read(later.id)).toEqual([bodyOf(later)]);
    const [before, after] = await deleteFromPostgres(moved, tenantId);
    expect([Number(before) > turns, after]).toEqual([true, 0]);
  }, 240_000);
});

describe("a file that says wrongly which texts are shared", () => {
  const text = "水車 says the same again. ".repeat(20);
  let folder = "";
  let small = "";
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "millrace-shared-"));
    storeBatches(folder, (tenantId) => {
      const sender = new ChunkedSender(tenantId);
      const parent = wireRun({ inputs: { text } });
      return [parent, wireRun({ parent, inputs: { text, list: [text, "x"] } })].map((run) =>
        sender.createBatch([{ run }]),
      );
    });
    small = join(folder, "small.backup");
    await createTenantBackup(small, { dataDir: folder, tenant: "default" });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const restoreWith = async (shared: unknown): Promise<string> => {
    const changed = join(await temporaryFolder(), "changed.backup");
    rewritePayloads(small, changed, ([digest, body, ranges]) =>
      ranges === undefined ? [digest, body] : [digest, body, shared],
    );
    const dataDir = await temporaryFolder();
    try {
      await restoreTenant(changed, { dataDir, tenant: "default" });
      return "";
    } catch (cause) {
      return cause instanceof Error ? cause.message : String(cause);
    }
  };

  test("is refused with the number of the line", async () => {
    const line = gunzipSync(readFileSync(small))
      .toString()
      .split("\n")
      .findIndex((row) => row.includes('[["text",'));
    expect(line).toBeGreaterThan(0);
    const prefix = `not an intact backup of a tenant: line ${line + 1}: `;
    const refusals: readonly (readonly [unknown, string])[] = [
      ["text", "the shared texts of a payload are not a list of at most 256"],
      [Array.from({ length: 257 }, () => ["text", 0, 1]), "are not a list of at most 256"],
      [[["text", 0]], "a shared text of a payload is not a kind and two positions"],
      [[["picture", 0, 10]], "a shared text of a payload is not a kind and two positions"],
      [[["text", 0.5, 10]], "a shared text of a payload is not a kind and two positions"],
      [[["text", 10, 10]], "are not within the payload, or not in their order"],
      [[["text", -1, 10]], "are not within the payload, or not in their order"],
      [[["text", 0, 1_000_000]], "are not within the payload, or not in their order"],
      [
        [
          ["text", 2, 9],
          ["text", 8, 10],
        ],
        "are not within the payload, or not in their order",
      ],
      [[["text", 0, 21]], "begins or ends within a character"],
    ];
    for (const [shared, reason] of refusals) {
      const refusal = await restoreWith(shared);
      expect(refusal).toContain(prefix);
      expect(refusal).toContain(reason);
    }
  }, 60_000);

  test("is restored where only the ranges are other ones, because the hashes are computed from them", async () => {
    // A restore reads everything back, and compares it with the file.
    expect(await restoreWith([["text", 1, 400]])).toBe("");
    expect(await restoreWith([["list", 1, 400]])).toBe("");
    expect(await restoreWith([])).toBe("");
  }, 60_000);
});
