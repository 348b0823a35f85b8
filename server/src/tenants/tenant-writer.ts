import { randomBytes, randomUUID } from "node:crypto";
import { RequestError } from "../model/errors.ts";
import type { ApiKey, NewKey, Tenant, TenantDraft, TenantWrites } from "./tenant.ts";
import { parseRows } from "../storage/sqlite/rows.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import { digestOf, keyColumns, parseKeyRow, parseTenantRow, tenantColumns } from "./tenant-row.ts";

const handlePattern = /^[a-z](?:[a-z0-9_-]{0,62}[a-z0-9])?$/;

/** Creates tenants, and creates and revokes keys. */
export class TenantWriter implements TenantWrites {
  readonly #statements;

  constructor(db: Connection) {
    this.#statements = {
      find: db.prepare(`SELECT ${tenantColumns} FROM tenants WHERE id = ?`).raw(),
      findByHandle: db.prepare("SELECT id FROM tenants WHERE handle = ?").raw(),
      insert: db.prepare(`INSERT INTO tenants (${tenantColumns}) VALUES (?, ?, ?, ?)`),
      setHandle: db.prepare("UPDATE tenants SET handle = ? WHERE id = ?"),
      findKey: db.prepare(`SELECT ${keyColumns} FROM api_keys WHERE id = ?`).raw(),
      insertKey: db.prepare(
        "INSERT INTO api_keys (digest, id, tenant_id, name_json, hint, created_us) VALUES (?, ?, ?, ?, ?, ?)",
      ),
      revokeKey: db.prepare(
        "UPDATE api_keys SET revoked_us = ? WHERE id = ? AND revoked_us IS NULL",
      ),
    };
  }

  create({ handle, displayName }: TenantDraft): Tenant {
    const id = randomUUID();
    if (handle !== null) {
      this.#assertFree(handle, id);
    }
    const createdMicros = Date.now() * 1_000;
    this.#statements.insert.run([id, handle, JSON.stringify(displayName), createdMicros]);
    return { id, handle, displayName, createdMicros };
  }

  setHandle(id: string, handle: string): Tenant {
    this.#assertFree(handle, id);
    this.#statements.setHandle.run([handle, id]);
    return this.#read(id);
  }

  createKey(tenantId: string, { name }: { readonly name: string }): NewKey {
    this.#read(tenantId);
    const id = randomUUID();
    const key = `mr_${randomBytes(32).toString("base64url")}`;
    const values = [digestOf(key), id, tenantId, JSON.stringify(name), key.slice(-4)];
    this.#statements.insertKey.run([...values, Date.now() * 1_000]);
    return { id, key };
  }

  revokeKey(id: string): ApiKey {
    this.#statements.revokeKey.run([Date.now() * 1_000, id]);
    const [values] = parseRows(this.#statements.findKey.all([id]));
    if (values === undefined) {
      throw new RequestError(404, "API key not found");
    }
    return parseKeyRow(values);
  }

  #read(id: string): Tenant {
    const [values] = parseRows(this.#statements.find.all([id]));
    if (values === undefined) {
      throw new RequestError(404, "Tenant not found");
    }
    return parseTenantRow(values);
  }

  #assertFree(handle: string, id: string): void {
    if (!handlePattern.test(handle)) {
      throw new RequestError(
        422,
        `a handle must have 1 to 64 lower-case letters, digits, - and _, begin with a letter and end with a letter or digit, not ${JSON.stringify(handle).slice(0, 80)}`,
      );
    }
    const [values] = parseRows(this.#statements.findByHandle.all([handle]));
    if (values !== undefined && values[0] !== id) {
      throw new RequestError(409, `The handle ${handle} belongs to another tenant.`);
    }
  }
}
