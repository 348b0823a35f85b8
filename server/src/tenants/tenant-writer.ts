import { randomBytes, randomUUID } from "node:crypto";
import { isKeyScope, keyScopes } from "millrace/model";
import { RequestError } from "../model/errors.ts";
import type { ApiKey, ApiKeyDraft, NewKey, Tenant, TenantDraft, TenantWrites } from "./tenant.ts";
import { digestKey, parseKeyRow, parseTenantRow, tenantQueries } from "./tenant-queries.ts";
import type { Database } from "../storage/query.ts";

const handlePattern = /^[a-z](?:[a-z0-9_-]{0,62}[a-z0-9])?$/;

/** Creates tenants, and creates and revokes keys. */
export class TenantWriter implements TenantWrites {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async create({ handle, displayName }: TenantDraft): Promise<Tenant> {
    const id = randomUUID();
    if (handle !== null) {
      await this.#assertAvailable(handle, id);
    }
    const createdMicros = Date.now() * 1_000;
    await this.#db.run(tenantQueries.insert, {
      id,
      handle,
      display_name_json: JSON.stringify(displayName),
      created_us: createdMicros,
    });
    return { id, handle, displayName, createdMicros };
  }

  async setHandle(id: string, handle: string): Promise<Tenant> {
    await this.#assertAvailable(handle, id);
    await this.#db.run(tenantQueries.setHandle, { id, handle });
    return this.#read(id);
  }

  async createKey(tenantId: string, { name, scopes = ["admin"] }: ApiKeyDraft): Promise<NewKey> {
    await this.#read(tenantId);
    if (scopes.length === 0 || !scopes.every(isKeyScope)) {
      throw new RequestError(
        422,
        `the scopes of a key must be one or more of ${keyScopes.join(", ")}, not ${JSON.stringify(scopes).slice(0, 80)}`,
      );
    }
    const id = randomUUID();
    const key = `mr_${randomBytes(32).toString("base64url")}`;
    await this.#db.run(tenantQueries.insertKey, {
      digest: digestKey(key),
      id,
      tenant_id: tenantId,
      name_json: JSON.stringify(name),
      hint: key.slice(-4),
      created_us: Date.now() * 1_000,
      scopes: keyScopes.filter((scope) => scopes.includes(scope)).join(","),
    });
    return { id, key };
  }

  async revokeKey(id: string): Promise<ApiKey> {
    await this.#db.run(tenantQueries.revokeKey, { id, nowMicros: Date.now() * 1_000 });
    const row = await this.#db.first(tenantQueries.findKey, { id });
    if (row === undefined) {
      throw new RequestError(404, "API key not found");
    }
    return parseKeyRow(row);
  }

  async #read(id: string): Promise<Tenant> {
    const row = await this.#db.first(tenantQueries.find, { id });
    if (row === undefined) {
      throw new RequestError(404, "Tenant not found");
    }
    return parseTenantRow(row);
  }

  async #assertAvailable(handle: string, id: string): Promise<void> {
    assertHandle(handle);
    const tenantWithHandle = await this.#db.first(tenantQueries.findByHandle, { handle });
    if (tenantWithHandle !== undefined && tenantWithHandle.id !== id) {
      throw new RequestError(409, `The handle ${handle} belongs to another tenant.`);
    }
  }
}

/** @throws RequestError 422: the text can't be the handle of a tenant. */
export function assertHandle(handle: string): void {
  if (!handlePattern.test(handle)) {
    throw new RequestError(
      422,
      `a handle must have 1 to 64 lower-case letters, digits, - and _, begin with a letter and end with a letter or digit, not ${JSON.stringify(handle).slice(0, 80)}`,
    );
  }
}
