import type { ApiKey, KeyAccess, Tenant, TenantReads } from "./tenant.ts";
import {
  digestKey,
  parseKeyRow,
  parseScopes,
  parseTenantRow,
  tenantQueries,
} from "./tenant-queries.ts";
import type { Database } from "../storage/query.ts";

/** Queries tenants and their keys. */
export class TenantReader implements TenantReads {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async find(id: string): Promise<Tenant | undefined> {
    const row = await this.#db.first(tenantQueries.find, { id });
    return row === undefined ? undefined : parseTenantRow(row);
  }

  async findByHandle(handle: string): Promise<Tenant | undefined> {
    const row = await this.#db.first(tenantQueries.findByHandle, { handle });
    return row === undefined ? undefined : parseTenantRow(row);
  }

  async list(): Promise<readonly Tenant[]> {
    return (await this.#db.all(tenantQueries.list, {})).map(parseTenantRow);
  }

  async findByKey(key: string): Promise<KeyAccess | undefined> {
    const row = await this.#db.first(tenantQueries.findByKey, { digest: digestKey(key) });
    return (
      row && {
        id: row.id,
        name: String(JSON.parse(row.name_json)),
        tenantId: row.tenant_id,
        scopes: parseScopes(row.scopes),
      }
    );
  }

  async hasKeys(): Promise<boolean> {
    return (await this.#db.first(tenantQueries.findAnyKey, {})) !== undefined;
  }

  async listKeys(tenantId?: string): Promise<readonly ApiKey[]> {
    const rows = await (tenantId === undefined
      ? this.#db.all(tenantQueries.listKeys, {})
      : this.#db.all(tenantQueries.listKeysOf, { tenantId }));
    return rows.map(parseKeyRow);
  }
}
