import { createHash } from "node:crypto";
import { sql } from "kysely";
import { isKeyScope } from "millrace/model";
import type { KeyScope } from "millrace/model";
import { createQueryBuilder, Query } from "../storage/query.ts";
import type { Parameters, RowOf } from "../storage/query.ts";
import type { ApiKey, Tenant } from "./tenant.ts";

interface TenantTable {
  readonly id: string;
  readonly handle: string | null;
  readonly display_name_json: string;
  readonly created_us: number;
}

interface KeyTable {
  readonly digest: string;
  readonly id: string;
  readonly tenant_id: string;
  readonly name_json: string;
  readonly hint: string;
  readonly created_us: number;
  readonly revoked_us: number | null;
  readonly scopes: string;
}

interface TenantTables {
  readonly tenants: TenantTable;
  readonly api_keys: KeyTable;
}

const builder = createQueryBuilder<TenantTables>();

const selectTenants = () =>
  builder.selectFrom("tenants").select(["id", "handle", "display_name_json", "created_us"]);

const selectKeys = () =>
  builder
    .selectFrom("api_keys")
    .select(["id", "tenant_id", "name_json", "hint", "created_us", "revoked_us", "scopes"]);

/** The queries of tenants and their API keys. */
export const tenantQueries = {
  find: new Query(({ id }: Parameters<{ id: string }>) => selectTenants().where("id", "=", id)),
  findByHandle: new Query(({ handle }: Parameters<{ handle: string }>) =>
    selectTenants().where("handle", "=", handle),
  ),
  list: new Query(() => selectTenants().orderBy("created_us").orderBy("id")),
  insert: new Query((row: Parameters<TenantTable>) =>
    builder.insertInto("tenants").values({
      id: row.id,
      handle: row.handle,
      display_name_json: row.display_name_json,
      created_us: row.created_us,
    }),
  ),
  setHandle: new Query(({ id, handle }: Parameters<{ id: string; handle: string }>) =>
    builder.updateTable("tenants").set({ handle }).where("id", "=", id),
  ),
  findByKey: new Query(({ digest }: Parameters<{ digest: string }>) =>
    builder
      .selectFrom("api_keys")
      .select(["id", "tenant_id", "name_json", "scopes"])
      .where("digest", "=", digest)
      .where("revoked_us", "is", null),
  ),
  findAnyKey: new Query(() =>
    builder
      .selectFrom("api_keys")
      .select((eb) => eb.lit(1).as("one"))
      .limit(sql.lit(1)),
  ),
  listKeys: new Query(() => selectKeys().orderBy("created_us").orderBy("id")),
  listKeysOf: new Query(({ tenantId }: Parameters<{ tenantId: string }>) =>
    selectKeys().where("tenant_id", "=", tenantId).orderBy("created_us").orderBy("id"),
  ),
  findKey: new Query(({ id }: Parameters<{ id: string }>) => selectKeys().where("id", "=", id)),
  insertKey: new Query((row: Parameters<Omit<KeyTable, "revoked_us">>) =>
    builder.insertInto("api_keys").values({
      digest: row.digest,
      id: row.id,
      tenant_id: row.tenant_id,
      name_json: row.name_json,
      hint: row.hint,
      created_us: row.created_us,
      scopes: row.scopes,
    }),
  ),
  revokeKey: new Query(({ id, nowMicros }: Parameters<{ id: string; nowMicros: number }>) =>
    builder
      .updateTable("api_keys")
      .set({ revoked_us: nowMicros })
      .where("id", "=", id)
      .where("revoked_us", "is", null),
  ),
};

export const parseTenantRow = (row: TenantTable): Tenant => ({
  id: row.id,
  handle: row.handle,
  displayName: String(JSON.parse(row.display_name_json)),
  createdMicros: row.created_us,
});

/** Converts a row to an API key. */
export const parseKeyRow = (row: RowOf<typeof tenantQueries.findKey>): ApiKey => ({
  id: row.id,
  tenantId: row.tenant_id,
  name: String(JSON.parse(row.name_json)),
  hint: row.hint,
  createdMicros: row.created_us,
  revokedMicros: row.revoked_us,
  scopes: parseScopes(row.scopes),
});

/** Parses stored scopes. A scope that this version does not support permits nothing. */
export const parseScopes = (text: string): readonly KeyScope[] =>
  text.split(",").filter(isKeyScope);

/** Computes the digest of a key, which is stored in place of the key. */
export const digestKey = (key: string): string => createHash("sha256").update(key).digest("hex");
