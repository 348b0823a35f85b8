import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { KeyStore } from "@millrace/server";
import { expect, onTestFinished, test } from "vitest";
import {
  call,
  runOwnServer,
  runServer,
  temporaryFolder,
  textOf,
} from "../../../tests/support/running-server.ts";
import { formatMigrations } from "../../store/schema.ts";
import { openDatabase } from "../../storage/sqlite/connection.ts";
import { revertToFormat } from "../../../tests/support/store-fixture.ts";
import { createNames, createResources } from "../../../tests/support/tenant-story.ts";

interface Server {
  readonly url: string;
}

interface Entry {
  readonly action: string;
  readonly target: string;
  readonly outcome: string;
  readonly status: number | null;
  readonly actor: { readonly kind: string; readonly id: string | null; readonly name: string };
}

const list = async (server: Server, query = "", headers = {}): Promise<readonly Entry[]> =>
  (await call(server, `GET /ui/audit?limit=200&${query}`, { headers })).json[
    "entries"
  ] as unknown as readonly Entry[];

/** Waits until as many entries of an action exist; those without a write of their own are stored after the response. */
async function waitForEntries(server: Server, action: string, count: number, headers = {}) {
  await expect
    .poll(async () => (await list(server, `action=${action}`, headers)).length, { timeout: 10_000 })
    .toBe(count);
  return list(server, `action=${action}`, headers);
}

test("an entry says who did what to what, from where and when, and contains no secret", async () => {
  const server = await runServer();
  const created = await call(server, "POST /ui/keys", { body: { name: "ci", scopes: ["read"] } });
  const id = textOf(created.json["id"]);
  const [entry] = await list(server, "action=createKey");
  expect(entry).toMatchObject({
    actor: { kind: "key", name: "" },
    address: expect.stringMatching(/127\.0\.0\.1$/) as string,
    action: "createKey",
    title: "create key",
    target: id,
    outcome: "succeeded",
    status: null,
    request_id: expect.any(String) as string,
  });
  const log = await call(server, "GET /ui/audit/export");
  expect(log.headers.get("content-type")).toContain("application/x-ndjson");
  expect(log.text).toContain(id);
  expect(log.text).not.toContain(textOf(created.json["key"]));
  // The export is audited itself.
  await waitForEntries(server, "exportAudit", 1);
});

test("the entry of a write is stored with it: it is there when the response arrives", async () => {
  const server = await runServer();
  const send = (target: string, init = {}) => call(server, target, init);
  const names = await createResources(send, createNames(), "mark");
  const entries = await list(server);
  const targetsOf = (action: string) =>
    entries.filter((entry) => entry.action === action).map(({ target }) => target);
  expect(targetsOf("createDataset")).toEqual([`other, ${names.other}`, `d, ${names.dataset}`]);
  expect(targetsOf("createWebhook")).toEqual([names.webhook]);
  expect(targetsOf("createRule")).toEqual([`${names.project}, ${names.rule}`]);
  expect(targetsOf("createAlert")).toEqual([`${names.project}, ${names.alert}`]);
  expect(targetsOf("setRetention")).toEqual([names.project]);
  expect(targetsOf("shareRun")).toEqual([names.root]);
  expect(targetsOf("shareDataset")).toEqual([names.dataset]);
  expect(targetsOf("createPrompt")).toEqual([`${names.prompt}, ${names.promptId}`]);
  expect(targetsOf("createView")[0]).toContain(names.view);
  expect(entries.every(({ outcome }) => outcome === "succeeded")).toBe(true);
  expect(JSON.stringify(entries)).not.toContain("mark asks");
  // Ingest is not audited.
  expect(entries.map(({ action }) => action)).not.toContain("sendMultipart");

  const comment = await call(server, "POST /ui/comments", {
    headers: { "x-millrace-author": "ann" },
    body: { id: randomUUID(), run_id: names.root, text: "good" },
  });
  const author = { headers: { "x-millrace-author": "ann" } };
  await call(server, `DELETE /ui/comments/${textOf(comment.json["id"])}`, author);
  const changed = await call(server, `POST /ui/webhooks/${names.webhook}/secret`, {
    body: { overlap_hours: 0 },
  });
  expect([comment.status, changed.status]).toEqual([200, 200]);
  const [secretChange, removal] = await list(server);
  expect(secretChange).toMatchObject({ action: "updateWebhookSecret", target: names.webhook });
  expect(removal).toMatchObject({ action: "deleteComment", target: comment.json["id"] });

  const kept = await call(server, `DELETE /sessions?session_ids=${names.project}`);
  expect(kept.status).toBe(200);
  const [deletion] = await list(server, "action=deleteProjects");
  expect(deletion?.target).toBe(names.project);
});

test("refused requests are recorded with their status, and those without permission as denied", async () => {
  const folder = await temporaryFolder();
  const server = await runOwnServer({ dataDir: folder, apiKeys: ["boot"] });
  const admin = { "x-api-key": "boot" };
  const { json } = await call(server, "POST /ui/keys", {
    headers: admin,
    body: { name: "reader", scopes: ["read"] },
  });
  const reader = { "x-api-key": textOf(json["key"]) };
  const denied = await call(server, "POST /datasets", { headers: reader, body: { name: "d" } });
  expect(denied.status).toBe(403);
  const missing = await call(server, `DELETE /datasets/${randomUUID()}`, { headers: admin });
  expect(missing.status).toBe(404);
  const [entry] = await waitForEntries(server, "createDataset", 1, admin);
  expect(entry).toMatchObject({
    actor: { kind: "key", id: json["id"], name: "reader" },
    outcome: "denied",
    status: 403,
  });
  const [failure] = await waitForEntries(server, "deleteDataset", 1, admin);
  expect(failure).toMatchObject({
    actor: { kind: "option", id: null, name: "configured key 1" },
    outcome: "failed",
    status: 404,
  });
  expect((await call(server, "GET /ui/audit", { headers: reader })).status).toBe(403);
  expect(await list(server, "outcome=denied", admin)).toHaveLength(1);
  expect(await list(server, `actor=${textOf(json["id"])}`, admin)).toHaveLength(1);
});

test("a tenant reads only its own entries, and the operator those of all tenants", async () => {
  const folder = await temporaryFolder();
  const server = await runOwnServer({ dataDir: folder });
  const keys = new KeyStore(folder);
  onTestFinished(() => keys.close());
  const { key } = await keys.create({ name: "operator" });
  const { key: foreign } = await keys.create({ name: "theirs", tenant: "acme" });
  const [operator, theirs] = [{ "x-api-key": key }, { "x-api-key": foreign }];
  await call(server, "POST /datasets", { headers: theirs, body: { name: "d" } });
  const own = await list(server, "", theirs);
  expect(own.map(({ action }) => action)).toEqual(["createDataset", "createKey", "createTenant"]);
  expect(own[1]?.actor.kind).toBe("command");
  expect((await list(server, "", operator)).map(({ action }) => action)).toEqual(["createKey"]);
  const all = await list(server, "all_tenants=true", operator);
  expect(all.map(({ action }) => action)).toEqual([
    "createDataset",
    "createKey",
    "createTenant",
    "createKey",
  ]);
  const refused = await call(server, "GET /ui/audit?all_tenants=true", { headers: theirs });
  expect(refused).toMatchObject({
    status: 403,
    json: { detail: expect.stringContaining("all_tenants") as string },
  });
});

test("pages continue where the previous one ended, and invalid filters are refused", async () => {
  const server = await runServer();
  for (const name of ["a", "b", "c"]) {
    await call(server, "POST /datasets", { body: { name } });
  }
  const first = await call(server, "GET /ui/audit?limit=2&action=createDataset");
  const cursor = textOf(first.json["next_cursor"]);
  const second = await call(server, `GET /ui/audit?limit=2&action=createDataset&cursor=${cursor}`);
  const targets = [first, second].flatMap(({ json }) =>
    (json["entries"] as unknown as readonly Entry[]).map(({ target }) => target.split(",")[0]),
  );
  expect(targets).toEqual(["c", "b", "a"]);
  expect(second.json["next_cursor"]).toBeNull();
  for (const query of ["action=sendBatch", "outcome=x", "limit=201", "cursor=x", "from=soon"]) {
    expect((await call(server, `GET /ui/audit?${query}`)).status).toBe(422);
  }
});

test("hostile names are stored as they are, and long ones are cut", async () => {
  const server = await runServer();
  const name = `\u202Egnp.exe<b>\u0000\ud800`;
  await call(server, "POST /datasets", { body: { name } });
  const [entry] = await list(server, "action=createDataset");
  expect(entry?.target.startsWith(name)).toBe(true);
  const ids = Array.from({ length: 30 }, () => randomUUID());
  await call(server, `DELETE /datasets?${ids.map((id) => `dataset_ids=${id}`).join("&")}`);
  // The entry of a request that failed is stored after its response.
  await expect
    .poll(async () => (await list(server, "action=deleteDatasets"))[0]?.target ?? "")
    .toMatch(/^[\da-f]{8}-.*, and 10 more$/);
});

test("a database of the format before gets a log, in which the next change appears", async () => {
  const dataDir = await temporaryFolder();
  await (await runOwnServer({ dataDir })).close();
  const db = openDatabase(join(dataDir, "millrace.db"));
  revertToFormat(
    db,
    formatMigrations.findIndex((sql) => sql.includes("CREATE TABLE audit_entries")),
  );
  db.close();
  const server = await runOwnServer({ dataDir });
  await call(server, "POST /datasets", { body: { name: "d" } });
  expect((await list(server)).map(({ action }) => action)).toEqual(["createDataset"]);
});
