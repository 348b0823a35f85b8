import {
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createBackup, restoreBackup } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { expect, test } from "vitest";
import { call, runServer, temporaryFolder, textOf } from "../../../tests/support/running-server.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";
import { openDatabase } from "../../storage/sqlite/connection.ts";
import { formatMigrations } from "../schema.ts";

const postRun = async (server: RunningServer, name: string): Promise<string> => {
  const run = wireRun({ name, session_name: "p" });
  expect((await call(server, "POST /runs", { body: run })).status).toBe(202);
  return run.id;
};

const countRuns = async (server: RunningServer, query?: string): Promise<number> => {
  const { text } = await call(server, "GET /sessions?name=p");
  const projectId = /"id":"([^"]+)"/.exec(text)?.[1];
  const { json } = await call(server, "POST /runs/query", {
    body: { session: [projectId], limit: 1_000, ...(query === undefined ? {} : { query }) },
  });
  const runs: unknown = json["runs"];
  return Array.isArray(runs) ? runs.length : 0;
};

const codeOf = async (callback: () => unknown): Promise<unknown> => {
  try {
    await callback();
  } catch (cause) {
    return [Reflect.get(cause as object, "code"), (cause as Error).message];
  }
  return undefined;
};

const refused = (message: string): unknown => ["BACKUP", expect.stringContaining(message)];

test("a backup made while runs arrive has all that were acknowledged before it, and opens as a server's data", async () => {
  const data = await temporaryFolder();
  const other = await temporaryFolder();
  const file = join(other, "copy.db");
  const server = await runServer({ dataDir: data });
  const before: string[] = [];
  for (let index = 0; index < 20; index += 1) {
    before.push(await postRun(server, `acknowledged ${index}`));
  }
  let isCopying = true;
  let later = 0;
  const writing = (async (): Promise<void> => {
    for (; isCopying; later += 1) {
      await postRun(server, "later");
    }
  })();
  const bytes = await createBackup(data, file);
  isCopying = false;
  await writing;

  expect(readdirSync(other)).toEqual(["copy.db"]);
  const { size, mode } = statSync(file);
  expect([size, mode & 0o777]).toEqual([bytes, 0o600]);
  const restored = join(other, "restored");
  expect(restoreBackup(file, restored)).toEqual({ hasTokenKey: false });
  const copy = await runServer({ dataDir: restored });
  for (const id of before) {
    expect((await call(copy, `GET /runs/${id}`)).status).toBe(200);
  }
  const count = await countRuns(copy);
  expect(count).toBeGreaterThanOrEqual(before.length);
  expect(count).toBeLessThanOrEqual(before.length + later);
  // The index of texts belongs to the folder, and is built again.
  await expect.poll(() => countRuns(copy, "acknowledged 7"), { timeout: 10_000 }).toBe(1);
  await postRun(copy, "new");
  expect(await countRuns(copy)).toBe(count + 1);
});

test("a database is replaced only where that is asked for, and stays beside the backup", async () => {
  const data = await temporaryFolder();
  const file = join(await temporaryFolder(), "copy.db");
  const first = await runServer({ dataDir: data });
  await postRun(first, "one");
  await createBackup(data, file);
  await postRun(first, "two");
  expect(await codeOf(() => restoreBackup(file, data, { replace: true }))).toEqual([
    "DATA_DIR_IN_USE",
    expect.stringContaining("stop it"),
  ]);
  await first.close();
  expect(await codeOf(() => restoreBackup(file, data))).toEqual(
    refused("contains a database: choose another data folder, or pass --replace"),
  );
  const { replacedFile = "" } = restoreBackup(file, data, { replace: true });
  const second = await runServer({ dataDir: data });
  expect(await countRuns(second)).toBe(1);
  await second.close();
  // What was replaced can be restored like a backup.
  const names = [replacedFile];
  for (let time = 0; time < 2; time += 1) {
    // Twice in the same second, too.
    names.push(restoreBackup(replacedFile, data, { replace: true }).replacedFile ?? "");
  }
  expect(new Set(names).size).toBe(3);
  expect(await countRuns(await runServer({ dataDir: data }))).toBe(2);
});

test("the key of links is copied and restored apart, and shows their addresses", async () => {
  const data = await temporaryFolder();
  const other = await temporaryFolder();
  const server = await runServer({ dataDir: data });
  const id = await postRun(server, "linked");
  const shared = await call(server, `PUT /runs/${id}/share`);
  const [file, tokenKeyFile] = [join(other, "copy.db"), join(other, "copy.key")];
  await createBackup(data, file, { tokenKeyFile });
  expect(statSync(tokenKeyFile).mode & 0o777).toBe(0o600);

  const withKey = join(other, "with");
  expect(restoreBackup(file, withKey, { tokenKeyFile })).toEqual({ hasTokenKey: true });
  const copy = await runServer({ dataDir: withKey });
  expect((await call(copy, `GET /runs/${id}/share`)).json).toMatchObject({
    share_token: textOf(shared.json["share_token"]),
  });
  const withoutKey = await runServer({ dataDir: withoutKeyFolder(file, other) });
  expect((await call(withoutKey, `GET /runs/${id}/share`)).status).toBe(409);
  expect(
    (await call(withoutKey, `GET /public/${textOf(shared.json["share_token"])}/run`)).status,
  ).toBe(200);
});

test("a backup whose key can't be copied leaves no file behind, and succeeds when the key is there", async () => {
  const data = await temporaryFolder();
  const other = await temporaryFolder();
  await (await runServer({ dataDir: data })).close();
  renameSync(join(data, "token.key"), join(data, "lost.key"));
  const backUp = () =>
    createBackup(data, join(other, "copy.db"), { tokenKeyFile: join(other, "copy.key") });
  expect(await codeOf(backUp)).toEqual(refused(`there is no token.key in ${data}`));
  expect(readdirSync(other)).toEqual([]);
  renameSync(join(data, "lost.key"), join(data, "token.key"));
  await backUp();
  expect(readdirSync(other)).toEqual(["copy.db", "copy.key"]);
});

function withoutKeyFolder(file: string, parent: string): string {
  const folder = join(parent, "without");
  restoreBackup(file, folder);
  return folder;
}

test("what can't be backed up or restored is refused with the reason, and nothing is left behind", async () => {
  const data = await temporaryFolder();
  const other = await temporaryFolder();
  const file = join(other, "copy.db");
  expect(await codeOf(() => createBackup(data, file))).toEqual(
    refused(`there is no database in ${data}`),
  );
  await (await runServer({ dataDir: data })).close();
  expect(await codeOf(() => createBackup(data, join(other, "missing", "copy.db")))).toEqual(
    refused("does not exist: create it first"),
  );
  await createBackup(data, file);
  expect(await codeOf(() => createBackup(data, file))).toEqual(refused("exists already"));

  const target = join(other, "target");
  const refuse = async (name: string, message: string): Promise<void> => {
    expect(await codeOf(() => restoreBackup(join(other, name), target))).toEqual(refused(message));
  };
  await refuse("no.db", "there is no file");
  writeFileSync(join(other, "text.db"), "hello");
  await refuse("text.db", "file is not a database");
  writeFileSync(join(other, "empty.db"), "");
  await refuse("empty.db", "it contains no runs table");
  const foreign = openDatabase(join(other, "foreign.db"));
  foreign.exec("CREATE TABLE recipes (name TEXT)");
  foreign.close();
  await refuse("foreign.db", "it is the database of another program");
  writeFileSync(join(other, "cut.db"), readFileSync(file));
  truncateSync(join(other, "cut.db"), statSync(file).size - 65_536);
  await refuse("cut.db", "it is not an intact backup");
  const later = openDatabase(file);
  later.exec(`PRAGMA user_version = ${formatMigrations.length + 1}`);
  later.close();
  await refuse("copy.db", "use a newer server");
  expect(readdirSync(other)).not.toContain("target");
});
