import { relative } from "node:path";
import { expect, test } from "vitest";
import {
  call,
  runOwnServer,
  runServer,
  temporaryFolder,
  textOf,
} from "../../../tests/support/running-server.ts";
import { multipart, multipartType, wireRun } from "../../../tests/support/wire-runs.ts";

test("once the first key is created, requests need one; the key works, and is shown once", async () => {
  const server = await runOwnServer();
  expect((await call(server, "GET /ui/server")).json).toMatchObject({
    needs_key: false,
    is_operator: true,
  });
  const created = await call(server, "POST /ui/keys", { body: { name: "laptop" } });
  expect(created.status).toBe(201);
  const key = textOf(created.json["key"]);
  expect((await call(server, "GET /ui/keys")).status).toBe(401);
  const headers = { "x-api-key": key };
  const listed = await call(server, "GET /ui/keys", { headers });
  expect(listed.json).toMatchObject([{ name: "laptop", hint: key.slice(-4), revoked_at: null }]);
  expect(listed.text).not.toContain(key);
});

test("a revoked key no longer works", async () => {
  const server = await runServer({ apiKeys: ["given"] });
  const headers = { "x-api-key": "given" };
  const { json } = await call(server, "POST /ui/keys", { body: { name: "" }, headers });
  const own = { "x-api-key": textOf(json["key"]) };
  expect((await call(server, "GET /ui/keys", { headers: own })).status).toBe(200);
  await call(server, `DELETE /ui/keys/${textOf(json["id"])}`, { headers });
  expect((await call(server, "GET /ui/keys", { headers: own })).status).toBe(401);
});

test("a key of another tenant sees and manages that tenant only", async () => {
  const server = await runServer({ apiKeys: ["given"] });
  const headers = { "x-api-key": "given" };
  const tenant = await call(server, "POST /ui/tenants", { body: { handle: "other" }, headers });
  expect(tenant.status).toBe(201);
  const tenant_id = textOf(tenant.json["id"]);
  const first = await call(server, "POST /ui/keys", { body: { name: "a" }, headers });
  const { json } = await call(server, "POST /ui/keys", {
    body: { name: "b", tenant_id },
    headers,
  });
  const other = { "x-api-key": textOf(json["key"]) };
  expect((await call(server, "GET /ui/tenants", { headers: other })).json).toMatchObject([
    { handle: "other" },
  ]);
  expect((await call(server, "GET /ui/tenants", { headers })).json).toHaveLength(2);
  expect((await call(server, "GET /ui/keys", { headers: other })).json).toMatchObject([
    { name: "b" },
  ]);
  const foreign = `DELETE /ui/keys/${textOf(first.json["id"])}`;
  expect((await call(server, foreign, { headers: other })).status).toBe(404);
  const refused = await call(server, "POST /ui/tenants", {
    body: { handle: "third" },
    headers: other,
  });
  expect(refused.status).toBe(403);
  const given = await call(server, "GET /settings", { headers });
  const crossing = await call(server, "POST /ui/keys", {
    body: { name: "c", tenant_id: textOf(given.json["id"]) },
    headers: other,
  });
  expect(crossing.status).toBe(403);
});

test("the data folder is shown only to callers on this machine", async () => {
  const dataDir = await temporaryFolder();
  const server = await runServer({ dataDir });
  expect((await call(server, "GET /ui/server")).json["data_dir"]).toBe(dataDir);
  const other = await temporaryFolder();
  const relativeServer = await runServer({ dataDir: relative(process.cwd(), other) });
  expect((await call(relativeServer, "GET /ui/server")).json["data_dir"]).toBe(other);
  const open = await runServer({
    dataDir: await temporaryFolder(),
    host: "0.0.0.0",
    apiKeys: ["k"],
  });
  const facts = await call(open, "GET /ui/server", { headers: { "x-api-key": "k" } });
  expect(facts.status).toBe(200);
  expect(facts.json["data_dir"]).toBeUndefined();
});

test("storage reports the size of the database and attachments, and runs by project", async () => {
  const server = await runServer();
  const run = wireRun({ session_name: "sized", start_time: "2026-11-21T10:11:12.345678Z" });
  const body = multipart([
    { name: `post.${run.id}`, body: JSON.stringify(run) },
    { name: `attachment.${run.id}.photo`, body: Buffer.alloc(5_000), contentType: "image/png" },
  ]);
  const headers = { "content-type": multipartType };
  expect((await call(server, "POST /runs/multipart", { body, headers })).status).toBe(202);
  const { json } = await call(server, "GET /ui/storage");
  expect(Number(json["database_bytes"])).toBeGreaterThan(5_000);
  expect(json["attachments"]).toEqual({ count: 1, bytes: 5_000, is_complete: true });
  expect(json["projects"]).toMatchObject([{ name: "sized", count: 1, is_complete: true }]);
  expect(textOf(json["projects"]?.[0]?.["oldest"])).toMatch(/^2026-11-21T10:11:12\.345678/);
});
