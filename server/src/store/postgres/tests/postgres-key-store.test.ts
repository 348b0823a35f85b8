import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PgliteClient } from "../../../../tests/support/repository-engines.ts";
import { AuditRepository } from "../../../audit/audit-repository.ts";
import { PostgresDatabase } from "../../../storage/postgres/postgres-database.ts";
import { TenantReader } from "../../../tenants/tenant-reader.ts";
import { findOrCreateDefaultTenant } from "../default-tenant.ts";
import { createPostgresKeyAdmin } from "../postgres-key-admin.ts";
import { PostgresKeyStore } from "../postgres-key-store.ts";

describe("keys in PostgreSQL", () => {
  let client: PgliteClient;
  let defaultTenantId: string;
  beforeAll(async () => {
    client = await PgliteClient.createMigrated();
    defaultTenantId = await findOrCreateDefaultTenant(client);
  }, 60_000);
  afterAll(() => client.close());

  test("are created for the default tenant or a named one, listed, and revoked, each with an entry in the audit log", async () => {
    const admin = createPostgresKeyAdmin(client);
    const [first, second] = await Promise.all([
      admin.create({ name: "ci" }),
      admin.create({ tenant: "acme", scopes: ["ingest"] }),
    ]);
    const db = new PostgresDatabase(client);
    const access = await new TenantReader(db).findByKey(first.key);
    expect(access).toMatchObject({ tenantId: defaultTenantId, scopes: ["admin"], name: "ci" });
    await admin.revoke(second.id);
    const keys = await admin.list();
    expect(
      keys.map(({ tenantHandle, revokedMicros }) => [tenantHandle, revokedMicros === null]),
    ).toEqual([
      [null, true],
      ["acme", false],
    ]);
    expect(JSON.stringify(keys)).not.toContain(first.key);
    const entries = await new AuditRepository(db).list(defaultTenantId, {
      tenantId: keys[1]?.tenantId,
      limit: 10,
    });
    expect(entries.map(({ action, actor }) => [action, actor.kind])).toEqual([
      ["revokeKey", "command"],
      ["createKey", "command"],
      ["createTenant", "command"],
    ]);
  });

  test("are refused for a malformed tenant, which changes nothing", async () => {
    const admin = createPostgresKeyAdmin(client);
    const before = await admin.list();
    await expect(admin.create({ tenant: "Not A Handle" })).rejects.toMatchObject({ code: "KEY" });
    await expect(admin.revoke("unknown")).rejects.toThrow("API key not found");
    expect(await admin.list()).toEqual(before);
  });
});

test("a database that can't be reached is named without its password", async () => {
  const url = "postgres://user:secret-word@127.0.0.1:9/traces";
  const reason = await PostgresKeyStore.open(url).then(
    () => "opened",
    (cause: unknown) => String(cause),
  );
  expect(reason).toContain("127.0.0.1:9/traces");
  expect(reason).not.toContain("secret-word");
});
