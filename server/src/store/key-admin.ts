import { AuditRepository } from "../audit/audit-repository.ts";
import { createCommandEntry } from "../audit/command-entry.ts";
import { RequestError, ServerError } from "../model/errors.ts";
import type { Database } from "../storage/query.ts";
import { TenantReader } from "../tenants/tenant-reader.ts";
import { TenantWriter } from "../tenants/tenant-writer.ts";
import type { ApiKey, NewKey } from "../tenants/tenant.ts";
import type { KeyDraft, ListedKey } from "./key-draft.ts";

/** What {@link KeyAdmin} needs from a database. */
interface KeyDatabase {
  readonly database: Database;
  readonly readDefaultTenantId: () => string | Promise<string>;
  /** Runs queries of all tenants. */
  readonly read: <Result>(query: () => Promise<Result>) => Promise<Result>;
  /** Runs a change in a transaction: if it fails, it has changed nothing. */
  readonly transact: <Result>(change: () => Promise<Result>) => Promise<Result>;
}

/** Creates, lists and revokes API keys in a database, for the commands that manage keys. */
export class KeyAdmin {
  readonly #parts: KeyDatabase;
  readonly #reader: TenantReader;
  readonly #writer: TenantWriter;
  readonly #audit: AuditRepository;
  /**
   * Settled when the last change is complete: each change waits for the previous one, because a connection has one
   * transaction at a time.
   */
  #lastChange: Promise<unknown> = Promise.resolve();

  constructor(parts: KeyDatabase) {
    this.#parts = parts;
    this.#reader = new TenantReader(parts.database);
    this.#writer = new TenantWriter(parts.database);
    this.#audit = new AuditRepository(parts.database);
  }

  create({ name = "", tenant, scopes }: KeyDraft): Promise<NewKey> {
    return this.#write(async () => {
      const tenantId = await this.#findOrCreateTenant(tenant);
      const key = await this.#writer.createKey(tenantId, { name, scopes });
      await this.#recordAction(tenantId, "createKey", key.id);
      return key;
    });
  }

  list(): Promise<readonly ListedKey[]> {
    return this.#parts.read(async () => {
      const tenants = await this.#reader.list();
      const handles = new Map(tenants.map(({ id, handle }) => [id, handle]));
      const keys = await this.#reader.listKeys();
      return keys.map((key) => ({ ...key, tenantHandle: handles.get(key.tenantId) ?? null }));
    });
  }

  revoke(id: string): Promise<ApiKey> {
    return this.#write(async () => {
      const key = await this.#writer.revokeKey(id);
      await this.#recordAction(key.tenantId, "revokeKey", id);
      return key;
    });
  }

  /** Returns the id of the tenant with this handle; without a handle, the id of the default tenant. */
  async #findOrCreateTenant(handle: string | undefined): Promise<string> {
    if (handle === undefined) {
      return this.#parts.readDefaultTenantId();
    }
    const existing = await this.#reader.findByHandle(handle);
    if (existing !== undefined) {
      return existing.id;
    }
    const { id } = await this.#writer.create({ handle, displayName: handle });
    await this.#recordAction(id, "createTenant", `${handle}, ${id}`);
    return id;
  }

  /** Adds an entry to the audit log, in the transaction of the change. */
  #recordAction(tenantId: string, action: string, target: string): Promise<void> {
    return this.#audit.record(tenantId, createCommandEntry(tenantId, action, target));
  }

  #write<Result>(change: () => Promise<Result>): Promise<Result> {
    const result = this.#lastChange.then(async () => {
      try {
        return await this.#parts.transact(change);
      } catch (cause) {
        throw cause instanceof RequestError
          ? new ServerError("KEY", cause.message, { cause })
          : cause;
      }
    });
    this.#lastChange = result.catch(() => undefined);
    return result;
  }
}
