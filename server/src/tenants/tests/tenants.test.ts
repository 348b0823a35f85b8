import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openSqliteStore } from "../../../dist/store/sqlite-store.js";
import type { Store } from "../../store/store.ts";
import { openDatabase } from "../../storage/sqlite/connection.ts";
import { StoreFixture } from "../../../tests/support/store-fixture.ts";
import { temporaryFolder } from "../../../tests/support/running-server.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";

async function openStore(folder?: string): Promise<Store> {
  const store = await openSqliteStore(folder ?? (await temporaryFolder()));
  onTestFinished(() => store.close());
  return store;
}

const createTenant = (store: Store, handle: string | null = null) =>
  store.write.tenants.create({ handle, displayName: "another" });

test("a key gives access to its tenant until it is revoked, and is stored nowhere in plain text", async () => {
  const folder = await temporaryFolder();
  const store = await openStore(folder);
  expect(await store.read.tenants.hasKeys()).toBe(false);
  const { id } = await createTenant(store);
  const created = await store.write.tenants.createKey(id, { name: "ci" });
  expect(created.key).toMatch(/^mr_[\w-]{43}$/);
  expect(await store.read.tenants.findByKey(created.key)).toEqual({
    id: created.id,
    name: "ci",
    tenantId: id,
    scopes: ["admin"],
  });
  expect(await store.read.tenants.findByKey(`${created.key}x`)).toBeUndefined();
  expect(await store.read.tenants.listKeys(id)).toMatchObject([
    { id: created.id, tenantId: id, name: "ci", hint: created.key.slice(-4), revokedMicros: null },
  ]);
  const db = openDatabase(join(folder, "millrace.db"));
  const rows = JSON.stringify(db.prepare("SELECT * FROM api_keys").raw().all());
  db.close();
  expect(rows).toContain(created.id);
  expect(rows).not.toContain(created.key.slice(3));
  const first = await store.write.tenants.revokeKey(created.id);
  expect(await store.read.tenants.findByKey(created.key)).toBeUndefined();
  expect(await store.write.tenants.revokeKey(created.id)).toEqual(first);
  expect(await store.read.tenants.hasKeys()).toBe(true);
});

test.each(["", "A", "a/b", "..", "-a", "a-", "é", "a b", "a".repeat(65), "a\n"])(
  "%j is not a valid handle",
  async (handle) => {
    const store = await openStore();
    const set = store.write.tenants.setHandle(store.defaultTenantId, handle);
    await expect(set).rejects.toMatchObject({ status: 422 });
    expect(await store.read.tenants.find(store.defaultTenantId)).toMatchObject({ handle: null });
  },
);

test("a handle belongs to one tenant only", async () => {
  const store = await openStore();
  const { id } = await createTenant(store, "acme");
  const taken = { status: 409, message: "The handle acme belongs to another tenant." };
  const set = (tenantId: string, handle: string) => store.write.tenants.setHandle(tenantId, handle);
  await expect(set(store.defaultTenantId, "acme")).rejects.toMatchObject(taken);
  await expect(createTenant(store, "acme")).rejects.toMatchObject(taken);
  expect(await set(id, "acme")).toMatchObject({ id, handle: "acme" });
  await set(id, "acme-2");
  expect(await set(store.defaultTenantId, "acme")).toMatchObject({ handle: "acme" });
  expect(await store.read.tenants.findByHandle("acme-2")).toMatchObject({ id });
});

test("invalid tenants and keys are rejected with an error, and nothing changes", async () => {
  const store = await openStore();
  const key = store.write.tenants.createKey(randomUUID(), { name: "x" });
  await expect(key).rejects.toMatchObject({ status: 404, message: "Tenant not found" });
  const revoked = store.write.tenants.revokeKey(randomUUID());
  await expect(revoked).rejects.toMatchObject({ status: 404, message: "API key not found" });
  expect(await store.read.tenants.listKeys()).toEqual([]);
  expect(await store.read.tenants.list()).toHaveLength(1);
});

test("runs and projects of one tenant do not exist for another", async () => {
  const store = await openStore();
  const fixture = new StoreFixture(store);
  const run = wireRun({ session_name: "p", name: "mine" });
  await fixture.send({ post: [run] });
  const { id: other } = await createTenant(store);
  const [project] = await store.read.projects.list(store.defaultTenantId, { limit: 9, offset: 0 });
  const projectId = project?.id ?? "";
  expect(await store.read.runs.find(other, run.id)).toBeUndefined();
  expect(await store.read.projects.find(other, projectId)).toBeUndefined();
  expect(await store.read.projects.list(other, { limit: 9, offset: 0 })).toEqual([]);
  const query = { order: "asc", limit: 9, withChildren: false } as const;
  for (const filter of [{}, { ids: [run.id] }, { projectIds: [projectId] }, { traceId: run.id }]) {
    expect(await store.read.runs.query(other, { ...query, filter })).toEqual({ runs: [] });
    expect(await store.read.runs.readStatistics(other, filter)).toMatchObject({ runCount: 0 });
  }
  const missing = { status: 404 };
  await expect(store.write.runs.share(other, run.id)).rejects.toMatchObject(missing);
  await expect(store.write.projects.delete(other, projectId)).rejects.toMatchObject(missing);
  const changes = { name: "taken over", description: null, endMicros: null, extra: null };
  await expect(store.write.projects.update(other, projectId, changes)).rejects.toMatchObject(
    missing,
  );
  expect(await fixture.read(run.id)).toMatchObject({ name: "mine", session_name: "p" });
});

test("a run of another tenant can't be written to, in any way", async () => {
  const store = await openStore();
  const mine = new StoreFixture(store);
  const { id: other } = await createTenant(store);
  const theirs = new StoreFixture(store, other);
  const run = wireRun({ session_name: "p", name: "mine" });
  await mine.send({ post: [run] });
  const [project] = await store.read.projects.list(store.defaultTenantId, { limit: 9, offset: 0 });
  const taken = { accepted: 1, rejected: [] };
  expect(await theirs.send({ patch: [{ ...run, name: "theirs" }] })).toMatchObject(taken);
  expect(await theirs.send({ post: [{ ...run, name: "posted" }] })).toMatchObject(taken);
  expect(await theirs.send({ post: [wireRun({ session_id: project?.id })] })).toMatchObject({
    accepted: 0,
    rejected: [{ reason: `session_id: there is no project ${String(project?.id)}` }],
  });
  expect(await mine.read(run.id)).toMatchObject({ name: "mine" });
  expect(await theirs.read(run.id)).toMatchObject({ name: "theirs" });
  await theirs.send({ post: [wireRun({ session_name: "p" })] });
  expect(await store.read.projects.list(other, { limit: 9, offset: 0 })).toMatchObject([
    { name: "p", tenantId: other },
  ]);
});

test("a shared run can be read by anyone with the token", async () => {
  const store = await openStore();
  const run = wireRun({ name: "shown" });
  await new StoreFixture(store).send({ post: [run] });
  const token = await store.write.runs.share(store.defaultTenantId, run.id);
  expect((await store.read.runs.findShared(token))?.row.name).toBe("shown");
  await store.write.runs.unshare((await createTenant(store)).id, run.id);
  expect((await store.read.runs.findShared(token))?.row.name).toBe("shown");
});
