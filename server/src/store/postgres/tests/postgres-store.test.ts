import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createTestDatabase,
  querySql,
  testServerUrl,
} from "../../../../tests/support/postgres-server.ts";
import type { TestDatabase } from "../../../../tests/support/postgres-server.ts";
import type { Store } from "../../store.ts";
import { openPostgresStore } from "../postgres-store.ts";

// Two stores on one database are what two servers use. They run here in one process, with connections of their own.

describe.skipIf(testServerUrl === undefined)("two servers on one PostgreSQL database", () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-postgres-"));
  let database: TestDatabase;
  let stores: readonly [Store, Store];

  beforeAll(async () => {
    database = await createTestDatabase();
    const open = (): Promise<Store> => openPostgresStore(database.url, { dataDir: folder });
    const first = await open();
    stores = [first, await open()];
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await database.drop();
    rmSync(folder, { recursive: true });
  });

  const createTenant = async (): Promise<string> => {
    const tenant = await stores[0].write.tenants.create({ displayName: "Test" } as never);
    return tenant.id;
  };

  test("the servers find the same default tenant", async () => {
    const tenants = await Promise.all(stores.map((store) => store.read.tenants.list()));
    expect(stores[0].defaultTenantId).toBe(stores[1].defaultTenantId);
    expect(tenants[0].filter(({ id }) => id === stores[0].defaultTenantId)).toHaveLength(1);
    expect(tenants[1]).toEqual(tenants[0]);
  });

  test("smoke", async () => {
    const tenantId = await createTenant();
    const id = randomUUID();
    const project = await stores[0].write.projects.create(tenantId, {
      id,
      name: "p",
      startMicros: 1,
      endMicros: null,
      description: null,
      extra: null,
      referenceDatasetId: null,
      upsert: false,
    } as never);
    expect(project.name).toBe("p");
    expect(await stores[1].read.projects.find(tenantId, id)).toMatchObject({ name: "p" });
    expect(await querySql(database.adminUrl, ["SELECT count(*)::int AS n FROM projects"])).toEqual([
      { n: 1 },
    ]);
  });
});
