import { randomUUID } from "node:crypto";
import { copyFileSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import type { RunningServer } from "@millrace/server";
import { describe, expect, onTestFinished, test } from "vitest";
import { openSqliteStore } from "../../../dist/store/sqlite-store.js";
import { formatMigrations, openWriter } from "../../store/schema.ts";
import { openDatabase } from "../../storage/sqlite/connection.ts";
import { TokenKeys } from "../../storage/sqlite/token-keys.ts";
import { call, runServer, temporaryFolder, textOf } from "../../../tests/support/running-server.ts";
import type { Json } from "../../../tests/support/running-server.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";

/** The names of files that contain one of the texts. */
const filesWith = (folder: string, texts: readonly string[]): string[] =>
  readdirSync(folder).filter((name) => {
    const bytes = readFileSync(join(folder, name));
    return texts.some((text) => bytes.includes(text));
  });

interface Links {
  readonly runId: string;
  readonly datasetId: string;
  /** Tokens of the run, of the dataset, and of feedback on the run. */
  readonly tokens: readonly [string, string, string];
}

async function makeLinks(server: RunningServer): Promise<Links> {
  const run = wireRun({ name: "linked" });
  await call(server, "POST /runs", { body: run });
  const dataset = await call(server, "POST /datasets", { body: { name: `d ${run.id}` } });
  const datasetId = textOf(dataset.json["id"]);
  const ofRun = await call(server, `PUT /runs/${run.id}/share`);
  const ofDataset = await call(server, `PUT /datasets/${datasetId}/share`);
  const ofFeedback = await call(server, "POST /feedback/tokens", {
    body: { run_id: run.id, feedback_key: "k" },
  });
  return {
    runId: run.id,
    datasetId,
    tokens: [
      textOf(ofRun.json["share_token"]),
      textOf(ofDataset.json["share_token"]),
      tokenOf(ofFeedback.json),
    ],
  };
}

const tokenOf = (json: Json): string => textOf(json["url"]).replace(/.*\//, "");

/** The statuses of requests for the three links. */
const follow = async (server: RunningServer, { tokens }: Links): Promise<readonly number[]> =>
  Promise.all(
    [
      `GET /public/${tokens[0]}/run`,
      `GET /public/${tokens[1]}/datasets`,
      `GET /feedback/tokens/${tokens[2]}?score=1`,
    ].map(async (target) => (await call(server, target)).status),
  );

/** The requests whose responses contain the URLs. */
const shows = ({ runId, datasetId }: Links): readonly string[] => [
  `GET /runs/${runId}/share`,
  `PUT /runs/${runId}/share`,
  `GET /datasets/${datasetId}/share`,
  `PUT /datasets/${datasetId}/share`,
  `GET /feedback/tokens?run_id=${runId}`,
];

const showAll = (server: RunningServer, links: Links) =>
  Promise.all(shows(links).map((target) => call(server, target)));

async function expectShown(server: RunningServer, links: Links): Promise<void> {
  const [run, run2, dataset, dataset2, feedback] = await showAll(server, links);
  const share = { run_id: links.runId, share_token: links.tokens[0] };
  const datasetShare = { dataset_id: links.datasetId, share_token: links.tokens[1] };
  expect([run?.json, run2?.json]).toEqual([share, share]);
  expect([dataset?.json, dataset2?.json]).toEqual([datasetShare, datasetShare]);
  expect(tokenOf(feedback?.json[0] ?? {})).toBe(links.tokens[2]);
  const read = await call(server, `GET /runs/${links.runId}`);
  expect(read.json["share_token"]).toBe(links.tokens[0]);
}

const keyFile = "token.key";
const whyHidden =
  "the link works, but its URL can't be shown, because token.key next to the database does not contain the key that it was encrypted with: restore that file and restart the server, or create a new link";

test(
  "no file contains tokens of links in plain text, and they are shown after a restart",
  { timeout: 30_000 },
  async () => {
    const dataDir = await temporaryFolder();
    const server = await runServer({ dataDir });
    const links = await makeLinks(server);
    expect(filesWith(dataDir, links.tokens)).toEqual([]);
    expect(filesWith(dataDir, [links.runId])).not.toEqual([]);
    await expectShown(server, links);
    await server.close();
    expect(filesWith(dataDir, links.tokens)).toEqual([]);
    const key = readFileSync(join(dataDir, keyFile), "utf8");
    expect(key).toMatch(/^[\w-]{43}\n$/);
    expect(filesWith(dataDir, [key.trim()])).toEqual([keyFile]);
    expect(statSync(join(dataDir, keyFile)).mode & 0o777).toBe(0o600);

    const again = await runServer({ dataDir });
    await expectShown(again, links);
    expect(await follow(again, links)).toEqual([200, 200, 200]);
    expect(readFileSync(join(dataDir, keyFile), "utf8")).toBe(key);
  },
);

test.each([
  ["missing", (path: string) => rmSync(path)],
  ["another one", (path: string) => writeFileSync(path, `${"A".repeat(43)}\n`)],
  ["no key", (path: string) => writeFileSync(path, "not a key\n")],
])(
  "if the key is %s, links work and their addresses can't be shown",
  async (_title, spoil) => {
    const dataDir = await temporaryFolder();
    const path = join(dataDir, keyFile);
    const first = await runServer({ dataDir });
    const links = await makeLinks(first);
    await first.close();
    const key = readFileSync(path, "utf8");
    spoil(path);
    const server = await runServer({ dataDir });
    for (const response of await showAll(server, links)) {
      expect(response).toMatchObject({ status: 409, json: { detail: whyHidden } });
    }
    expect((await call(server, `GET /runs/${links.runId}`)).json["share_token"]).toBeNull();
    expect(await follow(server, links)).toEqual([200, 200, 200]);

    // New links work as usual; a link that can't be shown is replaced by deleting and creating the share.
    const others = await makeLinks(server);
    await expectShown(server, others);
    await call(server, `DELETE /runs/${others.runId}/share`);
    const renewed = await call(server, `PUT /runs/${others.runId}/share`);
    expect(renewed.status).toBe(200);
    expect(textOf(renewed.json["share_token"])).not.toBe(others.tokens[0]);
    await server.close();

    // With both keys in one file, everything can be shown.
    writeFileSync(path, readFileSync(path, "utf8") + key);
    const whole = await runServer({ dataDir });
    await expectShown(whole, links);
  },
  30_000,
);

test("starting without the key causes a warning if there are links", async () => {
  const folder = await temporaryFolder();
  const warnings: string[] = [];
  const onWarning = ({ message }: Error): unknown => warnings.push(message);
  process.on("warning", onWarning);
  onTestFinished(() => void process.off("warning", onWarning));
  const first = await openSqliteStore(folder);
  await first.close();
  rmSync(join(folder, keyFile));
  const second = await openSqliteStore(folder);
  const draft = { runId: randomUUID(), key: "k", config: null, expiresMicros: 9e15 };
  await second.write.feedback.createTokens(second.defaultTenantId, [draft]);
  await second.close();
  expect(warnings).toEqual([]);
  rmSync(join(folder, keyFile));
  await (await openSqliteStore(folder)).close();
  expect(warnings).toEqual([
    `some share links were encrypted with a key that ${join(folder, keyFile)} does not contain: the links work, but their URLs can't be shown. Restore that file, or add the missing line to it, and restart the server`,
  ]);
});

test("expired feedback tokens are not listed if their key is lost", async () => {
  const dataDir = await temporaryFolder();
  const first = await runServer({ dataDir });
  const { runId } = await makeLinks(first);
  await first.close();
  const db = openDatabase(join(dataDir, "millrace.db"));
  db.prepare("UPDATE feedback_tokens SET expires_us = 1").run();
  db.close();
  rmSync(join(dataDir, keyFile));
  const server = await runServer({ dataDir });
  await call(server, "POST /feedback/tokens", { body: { run_id: runId, feedback_key: "new" } });
  const { json } = await call(server, `GET /feedback/tokens?run_id=${runId}`);
  expect(json).toMatchObject([{ feedback_key: "new" }]);
});

test("an encrypted token can be decrypted for its own row only, and only with its key", () => {
  const keys = TokenKeys.createRandom();
  const sealed = keys.encrypt("token", "run 1");
  expect(keys.decrypt(sealed, "run 1")).toBe("token");
  expect(keys.decrypt(sealed, "run 2")).toBeUndefined();
  expect(TokenKeys.createRandom().decrypt(sealed, "run 1")).toBeUndefined();
  expect(keys.encrypt("token", "run 1")).not.toBe(sealed);
  for (let at = 0; at < sealed.length - 1; at += 1) {
    const changed = sealed[at] === "A" ? "B" : "A";
    expect(
      keys.decrypt(sealed.slice(0, at) + changed + sealed.slice(at + 1), "run 1"),
    ).toBeUndefined();
  }
  expect(keys.decrypt("", "run 1")).toBeUndefined();
});

describe("a database of an older version", () => {
  /**
   * Creates a database as an older version left it when it was killed: the log file exists, and most of many links
   * were deleted without overwriting them.
   */
  async function makeOld(
    path: string,
  ): Promise<{ readonly kept: readonly string[]; readonly runId: string }> {
    const living = join(await temporaryFolder(), "millrace.db");
    const db = openDatabase(living);
    db.exec(
      `PRAGMA page_size = 16384; PRAGMA journal_mode = WAL; ${formatMigrations.slice(0, 9).join("")}`,
    );
    const [tenantId, projectId] = [randomUUID(), randomUUID()];
    db.prepare("INSERT INTO settings VALUES ('tenant_id', ?)").run([tenantId]);
    db.prepare(
      "INSERT INTO projects (id, tenant_id, name_json, start_us) VALUES (?, ?, '\"old\"', 1)",
    ).run([projectId, tenantId]);
    const run = wireRun();
    db.prepare(
      `INSERT INTO runs (trace_id, id, project_id, name, run_type, start_us, has_error, dotted_order, posted, patched)
       VALUES (?, ?, ?, 'old', 'chain', 1, 0, ?, 1, 0)`,
    ).run([run.trace_id, run.id, projectId, run.dotted_order]);
    db.prepare("INSERT INTO payloads VALUES (?, ?, '', '{}')").run([run.trace_id, run.id]);
    const insertShare = db.prepare("INSERT INTO shares VALUES (?, ?, ?)");
    const insertToken = db.prepare(
      "INSERT INTO feedback_tokens VALUES (?, ?, ?, ?, '\"k\"', NULL, ?, 9e15)",
    );
    const tokens: string[] = [];
    db.exec("BEGIN");
    for (let index = 0; index < 4_000; index += 1) {
      const [share, token] = [randomUUID(), randomUUID()];
      insertShare.run([
        share,
        index === 0 ? run.trace_id : "t",
        index === 0 ? run.id : `r${index}`,
      ]);
      insertToken.run([token, tenantId, randomUUID(), run.id, index]);
      tokens.push(share, token);
    }
    db.exec("COMMIT; BEGIN");
    const kept = tokens.filter((_token, index) => index % 400 < 2);
    const list = JSON.stringify(kept);
    for (const table of ["shares", "feedback_tokens"]) {
      db.prepare(`DELETE FROM ${table} WHERE token NOT IN (SELECT value FROM json_each(?))`).run([
        list,
      ]);
    }
    const dataset = randomUUID();
    const ofDataset = randomUUID();
    db.prepare(
      `INSERT INTO datasets (id, tenant_id, name_json, created_us, modified_us, example_count, is_ready, share_token, body)
       VALUES (?, ?, '"old"', 1, 1, 0, 1, ?, '{"dataType":"kv"}')`,
    ).run([dataset, tenantId, ofDataset]);
    db.exec("PRAGMA user_version = 9; COMMIT");
    for (const ending of ["", "-wal"]) {
      copyFileSync(living + ending, path + ending);
    }
    db.close();
    return { kept: [...kept, ofDataset], runId: run.id };
  }

  test("contains no plain-text token after its first start, and its links work", async () => {
    const dataDir = await temporaryFolder();
    const { kept, runId } = await makeOld(join(dataDir, "millrace.db"));
    expect(filesWith(dataDir, kept)).not.toEqual([]);
    const server = await runServer({ dataDir });
    expect(filesWith(dataDir, kept)).toEqual([]);
    const [ofRun, ofFeedback] = kept;
    const ofDataset = kept.at(-1);
    for (const target of [
      `GET /public/${ofRun}/run`,
      `GET /public/${ofDataset}/datasets`,
      `GET /feedback/tokens/${ofFeedback}?score=1`,
    ]) {
      expect({ target, status: (await call(server, target)).status }).toEqual({
        target,
        status: 200,
      });
    }
    expect((await call(server, `GET /runs/${runId}/share`)).json["share_token"]).toBe(ofRun);
    const { json } = await call(server, `GET /feedback/tokens?run_id=${runId}`);
    expect((json as unknown as Json[]).map(tokenOf)).toEqual(
      kept.filter((_token, index) => index % 2 === 1),
    );
    await server.close();
    expect(filesWith(dataDir, kept)).toEqual([]);
  });

  test("is intact after the migration, and no temporary table remains", async () => {
    const folder = await temporaryFolder();
    const path = join(folder, "millrace.db");
    const { kept } = await makeOld(path);
    expect(filesWith(folder, kept)).toContain("millrace.db-wal");
    const db = openWriter(path);
    expect(filesWith(folder, kept)).toEqual([]);
    const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").raw().all();
    expect(tables.flat()).toEqual(
      expect.arrayContaining(["shares", "feedback_tokens", "datasets"]),
    );
    expect(tables.flat().filter((name) => /zeros|sealed/.test(String(name)))).toEqual([]);
    expect(db.prepare("PRAGMA integrity_check").raw().all().flat()).toEqual(["ok"]);
    db.close();
  });
});
