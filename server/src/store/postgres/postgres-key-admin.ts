import type { PostgresClient } from "../../storage/postgres/postgres-client.ts";
import { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import { allTenants } from "../../storage/postgres/tenant-policies.ts";
import { runTransaction } from "../../storage/postgres/transaction.ts";
import { KeyAdmin } from "../key-admin.ts";
import { commandLimits } from "./command-session.ts";

/** Creates, lists and revokes keys over a connection. */
export function createPostgresKeyAdmin(client: PostgresClient): KeyAdmin {
  const options = { tenant: allTenants, ...commandLimits };
  return new KeyAdmin({
    database: new PostgresDatabase(client),
    readDefaultTenantId: async () => {
      const { rows } = await client.run({
        text: "SELECT value FROM settings WHERE key = 'tenant_id'",
        values: [],
      });
      return String(rows[0]?.["value"]);
    },
    read: (query) => runTransaction(client, { ...options, isReadOnly: true, locks: [] }, query),
    transact: (change) =>
      runTransaction(
        client,
        { ...options, isReadOnly: false, locks: [{ name: "all/tenants", isShared: false }] },
        change,
      ),
  });
}
