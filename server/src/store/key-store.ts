import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { messageOf, ServerError } from "../model/errors.ts";
import { restrictFiles, prepareFolder } from "../storage/sqlite/folder.ts";
import { lockFolder } from "../storage/sqlite/folder-lock.ts";
import type { FolderLock } from "../storage/sqlite/folder-lock.ts";
import { openSecondWriter, openWriter } from "./schema.ts";
import { databaseFileName, readDefaultTenantId } from "../storage/sqlite/open-database.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import { SqliteDatabase } from "../storage/sqlite/sqlite-database.ts";
import type { ApiKey, NewKey } from "../tenants/tenant.ts";
import { KeyAdmin } from "./key-admin.ts";
import type { KeyDraft, ListedKey } from "./key-draft.ts";

/**
 * Creates, lists and revokes the API keys of a data folder, whether or not a server is running on it. A running
 * server applies each change from its next request on.
 */
export class KeyStore {
  readonly #db: Connection;
  readonly #lock: FolderLock | undefined;
  readonly #admin: KeyAdmin;

  /**
   * @param dataDir - the data folder
   * @param options.mustExist - whether a folder without a database is refused; by default it is created
   * @throws {@link ServerError} the folder can't be used, or has no database.
   */
  constructor(dataDir: string, { mustExist = false }: { readonly mustExist?: boolean } = {}) {
    if (mustExist && !existsSync(join(resolve(dataDir), databaseFileName))) {
      throw new ServerError(
        "DATA_DIR",
        `there is no database in ${resolve(dataDir)}: name the data folder of the server`,
      );
    }
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
    this.#admin = new KeyAdmin({
      database: new SqliteDatabase(this.#db),
      readDefaultTenantId: () => readDefaultTenantId(this.#db),
      read: (query) => query(),
      transact: (change) => this.#transact(change),
    });
  }

  /**
   * Creates a key and returns its secret, which can't be read again later. Once any key exists, the server accepts only
   * requests with a key.
   *
   * @throws {@link ServerError} the handle is malformed, or a scope is unknown.
   */
  create(draft: KeyDraft = {}): Promise<NewKey> {
    return this.#admin.create(draft);
  }

  /** Lists all keys, including revoked ones, in the order of creation. */
  list(): Promise<readonly ListedKey[]> {
    return this.#admin.list();
  }

  /**
   * Revokes a key. Revoking it again changes nothing.
   *
   * @throws {@link ServerError} there is no such key.
   */
  revoke(id: string): Promise<ApiKey> {
    return this.#admin.revoke(id);
  }

  /** Closes the database and unlocks the folder. Call this method only after all promises of changes have settled. */
  close(): void {
    this.#db.close();
    this.#lock?.release();
  }

  async #transact<Result>(change: () => Promise<Result>): Promise<Result> {
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      const result = await change();
      this.#db.exec("COMMIT");
      return result;
    } catch (cause) {
      this.#db.exec("ROLLBACK");
      throw cause;
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
