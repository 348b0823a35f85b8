import { randomUUID } from "node:crypto";
import type { PostgresClient } from "../../storage/postgres/postgres-client.ts";
import { allTenants } from "../../storage/postgres/tenant-policies.ts";
import { runTransaction } from "../../storage/postgres/transaction.ts";

/**
 * Returns the id of the default tenant, which serves requests without a key. The first server creates it; if several
 * start at the same time, all of them find the same tenant.
 */
export async function findOrCreateDefaultTenant(client: PostgresClient): Promise<string> {
  const options = {
    tenant: allTenants,
    isReadOnly: false,
    statementMs: startTimeoutMs,
    lockMs: startTimeoutMs,
    locks: [{ name: "all/tenants", isShared: false }],
  };
  return runTransaction(client, options, async () => {
    const createdMicros = Date.now() * 1_000;
    await client.run({
      text: "INSERT INTO settings (key, value) VALUES ('tenant_id', $1) ON CONFLICT DO NOTHING",
      values: [randomUUID()],
    });
    await client.run({
      text: `INSERT INTO tenants (id, handle, display_name_json, created_us)
        SELECT value, NULL, '"local"', $1 FROM settings WHERE key = 'tenant_id' ON CONFLICT DO NOTHING`,
      values: [createdMicros],
    });
    const { rows } = await client.run({
      text: "SELECT value FROM settings WHERE key = 'tenant_id'",
      values: [],
    });
    return String(rows[0]?.["value"]);
  });
}

const startTimeoutMs = 30_000;
