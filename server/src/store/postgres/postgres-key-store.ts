import type { PostgresConnection } from "../../storage/postgres/postgres-connection.ts";
import type { ApiKey, NewKey } from "../../tenants/tenant.ts";
import type { KeyAdmin } from "../key-admin.ts";
import type { KeyDraft, ListedKey } from "../key-draft.ts";
import { assertStoreFormat, connectCommand } from "./command-session.ts";
import { findOrCreateDefaultTenant } from "./default-tenant.ts";
import { createPostgresKeyAdmin } from "./postgres-key-admin.ts";

/** Like `KeyStore`, for the keys in a PostgreSQL database. All servers of the database apply each change at once. */
export class PostgresKeyStore {
  readonly #connection: PostgresConnection;
  readonly #admin: KeyAdmin;

  private constructor(connection: PostgresConnection) {
    this.#connection = connection;
    this.#admin = createPostgresKeyAdmin(connection);
  }

  /**
   * @param url - the URL of the database, as passed to a server
   * @throws {@link ServerError} the database can't be reached, or has no tables of this version. The message contains
   * no password.
   */
  static async open(url: string): Promise<PostgresKeyStore> {
    const connection = await connectCommand(url);
    try {
      await assertStoreFormat(connection);
      await findOrCreateDefaultTenant(connection);
      return new PostgresKeyStore(connection);
    } catch (cause) {
      await connection.close();
      throw cause;
    }
  }

  /**
   * Creates a key and returns its secret, which can't be read again later. Once any key exists, the servers accept only
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

  close(): Promise<void> {
    return this.#connection.close();
  }
}
