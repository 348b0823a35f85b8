import { join } from "node:path";
import type { KeyScope } from "millrace/model";
import { AuditRepository } from "../audit/audit-repository.ts";
import { createCommandEntry } from "../audit/command-entry.ts";
import { messageOf, RequestError, ServerError } from "../model/errors.ts";
import { restrictFiles, prepareFolder } from "../storage/sqlite/folder.ts";
import { lockFolder } from "../storage/sqlite/folder-lock.ts";
import type { FolderLock } from "../storage/sqlite/folder-lock.ts";
import { openSecondWriter, openWriter } from "./schema.ts";
import { databaseFileName, readDefaultTenantId } from "../storage/sqlite/open-database.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import { SqliteDatabase } from "../storage/sqlite/sqlite-database.ts";
import { TenantReader } from "../tenants/tenant-reader.ts";
import { TenantWriter } from "../tenants/tenant-writer.ts";
import type { ApiKey, NewKey } from "../tenants/tenant.ts";

/** An API key with the handle of its tenant. The secret itself is not stored. */
export interface ListedKey extends ApiKey {
  /** Handle of the tenant; `null` if it has none yet. */
  readonly tenantHandle: string | null;
}

export interface KeyDraft {
  /** Describes what the key is for. @defaultValue "" */
  readonly name?: string;
  /**
   * Handle of the tenant that the key gives access to; the tenant is created if it does not exist. @defaultValue the
   * default tenant, which serves requests without a key
   */
  readonly tenant?: string;
  /** What the key permits. @defaultValue `["admin"]`, which includes the others */
  readonly scopes?: readonly KeyScope[];
}

/**
 * Creates, lists and revokes the API keys of a data folder, whether or not a server is running on it. A running
 * server applies each change from its next request on.
 */
export class KeyStore {
  readonly #db: Connection;
  readonly #lock: FolderLock | undefined;
  readonly #reader: TenantReader;
  readonly #writer: TenantWriter;
  readonly #audit: AuditRepository;
  /**
   * Settled when the last change is complete: each change waits for the previous one, because a connection has one
   * transaction at a time.
   */
  #lastChange: Promise<unknown> = Promise.resolve();

  /**
   * @param dataDir - the data folder; created if it does not exist
   * @throws {@link ServerError} the folder can't be used.
   */
  constructor(dataDir: string) {
    const folderPath = prepareFolder(dataDir);
    const databasePath = join(folderPath, databaseFileName);
    this.#lock = lockIfFree(folderPath);
    try {
      this.#db =
        this.#lock === undefined ? openSecondWriter(databasePath) : openWriter(databasePath);
    } catch (cause) {
      this.#lock?.release();
      throw new ServerError("DATA_DIR", `Failed to open ${databasePath}: ${messageOf(cause)}`, {
        cause,
      });
    }
    restrictFiles(folderPath);
    const database = new SqliteDatabase(this.#db);
    this.#reader = new TenantReader(database);
    this.#writer = new TenantWriter(database);
    this.#audit = new AuditRepository(database);
  }

  /**
   * Creates a key and returns its secret, which can't be read again later. Once any key exists, the server accepts only
   * requests with a key.
   *
   * @throws {@link ServerError} the handle is malformed, or a scope is unknown.
   */
  create({ name = "", tenant, scopes }: KeyDraft = {}): Promise<NewKey> {
    return this.#write(async () => {
      const tenantId = await this.#tenantId(tenant);
      const key = await this.#writer.createKey(tenantId, { name, scopes });
      await this.#recordAction(tenantId, "createKey", key.id);
      return key;
    });
  }

  /** Lists all keys, including revoked ones, in the order of creation. */
  async list(): Promise<readonly ListedKey[]> {
    const tenants = await this.#reader.list();
    const handles = new Map(tenants.map(({ id, handle }) => [id, handle]));
    const keys = await this.#reader.listKeys();
    return keys.map((key) => ({ ...key, tenantHandle: handles.get(key.tenantId) ?? null }));
  }

  /**
   * Revokes a key. Revoking it again changes nothing.
   *
   * @throws {@link ServerError} there is no such key.
   */
  revoke(id: string): Promise<ApiKey> {
    return this.#write(async () => {
      const key = await this.#writer.revokeKey(id);
      await this.#recordAction(key.tenantId, "revokeKey", id);
      return key;
    });
  }

  /** Closes the database and unlocks the folder. Call this method only after all promises of changes have settled. */
  close(): void {
    this.#db.close();
    this.#lock?.release();
  }

  async #tenantId(handle: string | undefined): Promise<string> {
    if (handle === undefined) {
      return readDefaultTenantId(this.#db);
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
    const result = this.#lastChange.then(() => this.#transact(change));
    this.#lastChange = result.catch(() => undefined);
    return result;
  }

  async #transact<Result>(change: () => Promise<Result>): Promise<Result> {
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      const result = await change();
      this.#db.exec("COMMIT");
      return result;
    } catch (cause) {
      this.#db.exec("ROLLBACK");
      throw cause instanceof RequestError
        ? new ServerError("KEY", cause.message, { cause })
        : cause;
    }
  }
}

/** Locks the folder, or returns `undefined` while a server uses it. */
function lockIfFree(path: string): FolderLock | undefined {
  try {
    return lockFolder(path);
  } catch (cause) {
    if (cause instanceof ServerError && cause.code === "DATA_DIR_IN_USE") {
      return undefined;
    }
    throw cause;
  }
}
