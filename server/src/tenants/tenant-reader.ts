import type { ApiKey, Tenant, TenantReads } from "./tenant.ts";
import { parseRows } from "../storage/sqlite/rows.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import { digestOf, keyColumns, parseKeyRow, parseTenantRow, tenantColumns } from "./tenant-row.ts";

/** Queries tenants and their keys. */
export class TenantReader implements TenantReads {
  readonly #statements;

  constructor(db: Connection) {
    const tenants = `SELECT ${tenantColumns} FROM tenants`;
    const keys = `SELECT ${keyColumns} FROM api_keys`;
    this.#statements = {
      find: db.prepare(`${tenants} WHERE id = ?`).raw(),
      findByHandle: db.prepare(`${tenants} WHERE handle = ?`).raw(),
      list: db.prepare(`${tenants} ORDER BY created_us, id`).raw(),
      findByKey: db
        .prepare("SELECT tenant_id FROM api_keys WHERE digest = ? AND revoked_us IS NULL")
        .raw(),
      anyKey: db.prepare("SELECT 1 FROM api_keys LIMIT 1").raw(),
      listKeys: db
        .prepare(`${keys} WHERE ?1 IS NULL OR tenant_id = ?1 ORDER BY created_us, id`)
        .raw(),
    };
  }

  find(id: string): Tenant | undefined {
    return this.#parseFirst(this.#statements.find.all([id]));
  }

  findByHandle(handle: string): Tenant | undefined {
    return this.#parseFirst(this.#statements.findByHandle.all([handle]));
  }

  list(): readonly Tenant[] {
    return parseRows(this.#statements.list.all()).map(parseTenantRow);
  }

  findByKey(key: string): string | undefined {
    const [values] = parseRows(this.#statements.findByKey.all([digestOf(key)]));
    return values === undefined ? undefined : String(values[0]);
  }

  hasKeys(): boolean {
    return this.#statements.anyKey.all().length > 0;
  }

  listKeys(tenantId?: string): readonly ApiKey[] {
    return parseRows(this.#statements.listKeys.all([tenantId ?? null])).map(parseKeyRow);
  }

  #parseFirst(rows: readonly unknown[]): Tenant | undefined {
    const [values] = parseRows(rows);
    return values === undefined ? undefined : parseTenantRow(values);
  }
}
