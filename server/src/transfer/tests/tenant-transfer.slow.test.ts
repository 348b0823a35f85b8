import { randomUUID } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { createTenantBackup, KeyStore, restoreTenant, startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openSqliteStore } from "../../../dist/store/sqlite-store.js";
import { ChunkedSender } from "../../../tests/support/chunked-runs.ts";
import { PgliteClient } from "../../../tests/support/repository-engines.ts";
import { readAll } from "../../../tests/support/read-tenant.ts";
import { call, runServer, temporaryFolder } from "../../../tests/support/running-server.ts";
import { createNames, createResources } from "../../../tests/support/tenant-story.ts";
import type { Names, SendRequest } from "../../../tests/support/tenant-story.ts";
import { patchOf } from "../../../tests/support/store-fixture.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";
import { openDatabase } from "../../storage/sqlite/connection.ts";
import { findOrCreateDefaultTenant } from "../../store/postgres/default-tenant.ts";
import { portableTables } from "../portable-tables.ts";
import { PostgresRows } from "../postgres-rows.ts";
import { checkTenantFile, writeTenantFile } from "../tenant-backup.ts";
import { restoreIntoPostgres } from "../tenant-transfer.ts";

const sendAs =
  (server: Pick<RunningServer, "url">, key: string): SendRequest =>
  (target, { body, headers } = {}) =>
    call(server, target, { body, headers: { ...headers, "x-api-key": key } });

/** A folder with a tenant that has one of everything, and the tenant's key. */
interface Story {
  readonly dataDir: string;
  readonly key: string;
  readonly names: Names;
  readonly before: Readonly<Record<string, readonly unknown[]>>;
}

async function createKey(dataDir: string, tenant: string): Promise<string> {
  const keys = new KeyStore(dataDir);
  try {
    return (await keys.create({ tenant })).key;
  } finally {
    keys.close();
  }
}

/** What each test gets a copy of. */
let told: Story | undefined;
const givenNames = createNames();
beforeAll(async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "millrace-story-"));
  const key = await createKey(dataDir, "acme");
  const server = await startServer({ port: 0, dataDir });
  const send = sendAs(server, key);
  const names = await createResources(send, givenNames, "quilt");
  told = { dataDir, key, names, before: await readAll(send, names, "quilt") };
  await server.close();
}, 120_000);
afterAll(() => told && rmSync(told.dataDir, { recursive: true, force: true }));

async function copyStory(): Promise<Story> {
  if (told === undefined) {
    throw new Error("the story is stored before the tests: call this function in a test");
  }
  const dataDir = await temporaryFolder();
  cpSync(told.dataDir, dataDir, { recursive: true });
  return { ...told, dataDir };
}

const errorOf = async (attempt: () => Promise<unknown>): Promise<string> => {
  try {
    await attempt();
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause);
  }
  return "";
};

/** The payloads of a folder that share texts, and the shared texts. */
function countShared(dataDir: string): readonly unknown[] {
  const db = openDatabase(join(dataDir, "millrace.db"));
  const counts = db
    .prepare(
      "SELECT (SELECT count(*) FROM payloads WHERE parts IS NOT NULL), (SELECT count(*) FROM shared_texts)",
    )
    .raw()
    .all();
  db.close();
  return counts.flat();
}

test("a payload that shares texts with others is copied whole, and shares them in the copy", async () => {
  const dataDir = await temporaryFolder();
  await createKey(dataDir, "acme");
  const store = await openSqliteStore(dataDir);
  const tenant = (await store.read.tenants.findByHandle("acme"))?.id ?? "";
  const sender = new ChunkedSender(tenant);
  const text = Array.from({ length: 400 }, (_, index) => `word ${index * 7_919}`).join(" ");
  const root = wireRun({ session_name: "p", inputs: { text } });
  const child = wireRun({ session_name: "p", parent: root, inputs: { text, more: "\u0000" } });
  for (const run of [root, child]) {
    await store.ingest(tenant, sender.createBatch([{ run }]));
  }
  const before = (await store.read.runs.find(tenant, child.id))?.bodies.map((body) =>
    Buffer.from(body).toString(),
  );
  await store.close();
  expect(countShared(dataDir)).toEqual([1, 1]);

  const file = join(dataDir, "acme.backup");
  const { tables } = await createTenantBackup(file, { dataDir, tenant: "acme" });
  const other = await temporaryFolder();
  const restored = await restoreTenant(file, { dataDir: other, tenant: "acme" });
  expect(restored.tables).toEqual(tables);
  expect(countShared(other)).toEqual([1, 1]);
  const copy = await openSqliteStore(other);
  expect(
    (await copy.read.runs.find(tenant, child.id))?.bodies.map((body) =>
      Buffer.from(body).toString(),
    ),
  ).toEqual(before);
  await copy.close();
}, 120_000);

test("a tenant that is restored beside another one with the same ids reads what it read before", async () => {
  const story = await copyStory();
  const file = join(story.dataDir, "acme.backup");
  const { tables, bytes } = await createTenantBackup(file, { ...story, tenant: "acme" });
  expect([statSync(file).size, statSync(file).mode & 0o777]).toEqual([bytes, 0o600]);
  expect(tables.find(({ name }) => name === "runs")?.count).toBeGreaterThanOrEqual(5);

  const dataDir = await temporaryFolder();
  const otherKey = await createKey(dataDir, "other");
  const other = await runServer({ dataDir });
  const theirs = await createResources(sendAs(other, otherKey), givenNames, "prawn");
  const theirBefore = await readAll(sendAs(other, otherKey), theirs, "prawn");
  expect(await errorOf(() => restoreTenant(file, { dataDir, tenant: "acme" }))).toContain("in use");
  await other.close();
  const restored = await restoreTenant(file, {
    dataDir,
    tenant: "acme",
    tokenKeyFile: join(story.dataDir, "token.key"),
  });
  expect(restored.tables).toEqual(tables);

  const server = await runServer({ dataDir });
  expect(await readAll(sendAs(server, story.key), story.names, "quilt")).toEqual(story.before);
  expect(await readAll(sendAs(server, otherKey), theirs, "prawn")).toEqual(theirBefore);
}, 120_000);

describe("a tenant in PostgreSQL", () => {
  let client: PgliteClient;
  beforeAll(async () => {
    client = await PgliteClient.createMigrated();
    await findOrCreateDefaultTenant(client);
  }, 120_000);
  afterAll(() => client.close());

  const copyBack = async (tenant: string, file: string) => {
    await client.exec("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    try {
      return await writeTenantFile(new PostgresRows(client), tenant, file);
    } finally {
      await client.exec("ROLLBACK");
    }
  };

  test("has the same rows as the one of SQLite that it was restored from, and back", async () => {
    const story = await copyStory();
    const file = join(story.dataDir, "acme.backup");
    const { tables } = await createTenantBackup(file, { ...story, tenant: "acme" });
    const options = { tenant: "moved" };
    const restored = await restoreIntoPostgres(file, await checkTenantFile(file), {
      options,
      client,
    });
    expect(restored.tables).toEqual(tables);

    const copy = join(story.dataDir, "copy.backup");
    const copied = await copyBack("moved", copy);
    // The restore is in the audit log, and rows that the database numbers have further numbers.
    const changed = new Set([
      "audit_entries",
      ...portableTables.flatMap(({ name, numbers }) => (numbers ? [name] : [])),
    ]);
    const comparable = (sums: typeof tables) =>
      sums.map((sum) => (changed.has(sum.name) ? sum.name : sum));
    expect(comparable(copied.tables)).toEqual(comparable(tables));

    const dataDir = await temporaryFolder();
    await createKey(dataDir, "first");
    const tokenKeyFile = join(story.dataDir, "token.key");
    await restoreTenant(copy, { dataDir, tenant: "again", tokenKeyFile });
    const server = await runServer({ dataDir });
    const after = await readAll(sendAs(server, story.key), story.names, "quilt");
    // The handle was changed.
    const rename = (text: string) => text.replaceAll(/\b(?:acme|again)\b/g, "<tenant>");
    expect(rename(JSON.stringify(after))).toEqual(rename(JSON.stringify(story.before)));
  }, 120_000);

  test("is not restored where a text can't be stored, and says which", async () => {
    const dataDir = await temporaryFolder();
    await createKey(dataDir, "nul");
    const db = openDatabase(join(dataDir, "millrace.db"));
    db.exec(
      `INSERT INTO model_prices SELECT id, 'a' || char(0) || 'b', '', '', 0, '{}' FROM tenants WHERE handle = 'nul'`,
    );
    db.close();
    const file = join(dataDir, "nul.backup");
    await createTenantBackup(file, { dataDir, tenant: "nul" });
    const options = { tenant: "nul" };
    const checked = await checkTenantFile(file);
    expect(await errorOf(() => restoreIntoPostgres(file, checked, { options, client }))).toMatch(
      /the column model of the row .* of model_prices contains the character NUL/,
    );
    const { rows } = await client.run({
      text: "SELECT id FROM tenants WHERE handle = 'nul'",
      values: [],
    });
    expect(rows).toEqual([]);
    // SQLite can store it.
    const other = await temporaryFolder();
    const { tables } = await restoreTenant(file, { dataDir: other, tenant: "nul" });
    expect(tables.find(({ name }) => name === "model_prices")?.count).toBe(1);
  }, 120_000);

  test("keeps hostile values: bidi marks, NUL, halves of surrogate pairs, megabytes and many digits", async () => {
    const dataDir = await temporaryFolder();
    const key = await createKey(dataDir, "hostile");
    const server = await runServer({ dataDir });
    const send = sendAs(server, key);
    const id = randomUUID();
    const run = {
      ...wireRun({ id, name: "\u202Eevil\u0000\uD800", session_name: "<script>\u2066" }),
      inputs: { big: "x".repeat(5_000_000), number: "!" },
    };
    const body = JSON.stringify(run).replace('"!"', "123456789012345678901234567890.50");
    const headers = { "content-type": "application/json" };
    expect((await send("POST /runs", { body, headers })).status).toBe(202);
    const patch = patchOf(run, { outputs: { nul: "\u0000", lone: "\uDFFF" } });
    expect((await send(`PATCH /runs/${id}`, { body: patch })).status).toBe(202);
    const before = (await send(`GET /runs/${id}`)).text;
    await server.close();

    const file = join(dataDir, "hostile.backup");
    const { tables } = await createTenantBackup(file, { dataDir, tenant: "hostile" });
    const options = { tenant: "hostile" };
    const checked = await checkTenantFile(file);
    expect((await restoreIntoPostgres(file, checked, { options, client })).tables).toEqual(tables);
    const copy = join(dataDir, "copy.backup");
    await copyBack("hostile", copy);
    const other = await temporaryFolder();
    await restoreTenant(copy, { dataDir: other, tenant: "hostile" });
    const restored = await runServer({ dataDir: other });
    expect((await sendAs(restored, key)(`GET /runs/${id}`)).text).toBe(before);
  }, 120_000);
});

describe("a backup of a tenant", () => {
  test("is refused if the file exists, the tenant is unknown, or there is no database", async () => {
    const dataDir = await temporaryFolder();
    await createKey(dataDir, "acme");
    const file = join(dataDir, "acme.backup");
    writeFileSync(file, "");
    const back = (tenant: string, folder = dataDir, target = file) =>
      errorOf(() => createTenantBackup(target, { dataDir: folder, tenant }));
    expect(await back("acme")).toContain("exists already: choose another name");
    const fresh = join(dataDir, "fresh");
    expect(await back("nobody", dataDir, fresh)).toContain(
      'there is no tenant "nobody": name its handle',
    );
    expect(await back("acme", join(dataDir, "none"), fresh)).toContain("there is no database in");
    expect(await back("acme", dataDir, join(dataDir, "none", "x"))).toContain(
      "does not exist: create it",
    );
    expect(readdirSync(dataDir).filter((name) => /partial|fresh/.test(name))).toEqual([]);
  });

  test("that is damaged, cut off, of a later version or none at all is refused, and changes nothing", async () => {
    const source = await temporaryFolder();
    const key = await createKey(source, "acme");
    const server = await runServer({ dataDir: source });
    await sendAs(server, key)("POST /runs", { body: wireRun({ session_name: "p" }) });
    const backup = join(source, "acme.backup");
    // While the server runs.
    await createTenantBackup(backup, { dataDir: source, tenant: "acme" });
    const text = gunzipSync(readFileSync(backup)).toString();
    const lines = text.trimEnd().split("\n");
    const target = join(source, "restored");
    const refusalOf = async (content: string | Uint8Array): Promise<string> => {
      const bad = join(source, `bad-${randomUUID()}`);
      writeFileSync(bad, content);
      return errorOf(() => restoreTenant(bad, { dataDir: target, tenant: "acme" }));
    };
    const change = (from: string | RegExp, to: string) => gzipSync(text.replace(from, to));
    expect(text).toContain('"a run"');
    expect(await refusalOf(change('"a run"', '"b run"'))).toMatch(/the rows of runs were changed/);
    expect(await refusalOf(change('"version":"', '"version":"9'))).toContain("SHA-256 at its end");
    expect(await refusalOf(gzipSync(`${lines.slice(0, -1).join("\n")}\n`))).toContain(
      "ends too early",
    );
    expect(await refusalOf(gzipSync(lines.join("\n")))).toContain("ends within a line");
    expect(await refusalOf(readFileSync(backup).subarray(0, 300))).toContain(
      "not an intact backup of a tenant",
    );
    expect(await refusalOf("not a backup")).toContain("not an intact backup of a tenant");
    expect(await refusalOf(gzipSync("{}\n"))).toContain(
      "does not begin with the first line of a backup",
    );
    expect(
      await refusalOf(change('"millrace_tenant_backup":1', '"millrace_tenant_backup":2')),
    ).toMatch(/in format 2, and this version reads formats up to 1: use a newer version/);
    expect(await refusalOf(change('{"table":"spans"', '{"table":"future"'))).toContain(
      'the table "future", which this version does not support',
    );
    expect(await refusalOf(change('"name_json"', '"name_xml"'))).toContain(
      "which this version does not support",
    );
    expect(
      await errorOf(() => restoreTenant(join(source, "none"), { dataDir: target, tenant: "a" })),
    ).toContain("there is no file");
    expect(existsSync(target)).toBe(false);
  }, 30_000);

  test("replaces what a tenant has only where that is asked for, and leaves other tenants as they are", async () => {
    const story = await copyStory();
    const backup = join(story.dataDir, "acme.backup");
    await createTenantBackup(backup, { ...story, tenant: "acme" });
    const server = await runServer({ dataDir: story.dataDir });
    const send = sendAs(server, story.key);
    const later = wireRun({ session_name: "later" });
    await send("POST /runs", { body: later });
    await send(`DELETE /datasets/${story.names.dataset}`);
    await server.close();
    const options = { dataDir: story.dataDir, tenant: "acme" };
    expect(await errorOf(() => restoreTenant(backup, options))).toMatch(
      /the tenant acme has data already \(projects, .*\): choose another name, or pass --replace/,
    );
    await restoreTenant(backup, { ...options, replace: true });
    const again = await runServer({ dataDir: story.dataDir });
    expect(await readAll(sendAs(again, story.key), story.names, "quilt")).toEqual(story.before);
    expect((await sendAs(again, story.key)(`GET /runs/${later.id}`)).status).toBe(404);
  }, 120_000);

  test("is restored as another tenant only if handles and links allow it, and as the default tenant", async () => {
    const story = await copyStory();
    const backup = join(story.dataDir, "acme.backup");
    await createTenantBackup(backup, { ...story, tenant: "acme" });
    const restore = (tenant: string, folder = story.dataDir) =>
      errorOf(() => restoreTenant(backup, { dataDir: folder, tenant }));
    expect(await restore("Not A Handle")).toContain("none can be created: a handle must have");
    expect(await restore("copy")).toMatch(/nothing was changed: .*unique in a database/);
    const other = await temporaryFolder();
    expect(await restore("default", other)).toBe("");
    expect(await restore("default", other)).toContain("has data already");
  }, 120_000);

  test("is not made if the keys of links can't be copied, and no file is left behind", async () => {
    const story = await copyStory();
    const other = await temporaryFolder();
    const tokenKeyFile = join(other, "acme.key");
    const options = { dataDir: story.dataDir, tenant: "acme", tokenKeyFile };
    const backUp = () => createTenantBackup(join(other, "acme.backup"), options);
    renameSync(join(story.dataDir, "token.key"), join(story.dataDir, "lost.key"));
    expect(await errorOf(backUp)).toContain("there is no token.key in");
    expect(readdirSync(other)).toEqual([]);
    writeFileSync(tokenKeyFile, "the key of another backup");
    renameSync(join(story.dataDir, "lost.key"), join(story.dataDir, "token.key"));
    expect(await errorOf(backUp)).toContain("acme.key exists already");
    expect(readdirSync(other)).toEqual(["acme.key"]);
    rmSync(tokenKeyFile);
    await backUp();
    expect(readdirSync(other).toSorted()).toEqual(["acme.backup", "acme.key"]);
  }, 120_000);

  test("adds the keys of links only if it is restored", async () => {
    const story = await copyStory();
    const backup = join(story.dataDir, "acme.backup");
    const tokenKeyFile = join(story.dataDir, "acme.key");
    await createTenantBackup(backup, { ...story, tenant: "acme", tokenKeyFile });
    const restore = (folder: string, tenant: string, keys = tokenKeyFile) =>
      errorOf(() => restoreTenant(backup, { dataDir: folder, tenant, tokenKeyFile: keys }));
    const readKeys = (folder: string) => readFileSync(join(folder, "token.key"), "utf8");

    const foreignKeys = join(story.dataDir, "foreign.key");
    writeFileSync(foreignKeys, `${"k".repeat(43)}\n`);
    const before = readKeys(story.dataDir);
    expect(await restore(story.dataDir, "copy", foreignKeys)).toContain("nothing was changed");
    expect(readKeys(story.dataDir)).toBe(before);

    // In a folder without keys, the added ones come first: they encrypt the links that are created next.
    const empty = await temporaryFolder();
    expect(await restore(empty, "acme")).toBe("");
    expect(readKeys(empty).startsWith(readFileSync(tokenKeyFile, "utf8"))).toBe(true);

    const other = await temporaryFolder();
    await createKey(other, "first");
    expect(await restore(other, "acme", backup)).toMatch(
      /nothing was changed: .*acme\.backup contains no key for share links/,
    );
    // A folder in the place of the new file: the keys can't be written.
    mkdirSync(join(other, "token.key.new"));
    expect(await restore(other, "acme")).toMatch(
      /the tenant acme was restored, but the keys of .*acme\.key were not added to .*token\.key/,
    );
    rmSync(join(other, "token.key.new"), { recursive: true });
    expect(await restore(other, "acme")).toContain("has data already");
  }, 120_000);
});
