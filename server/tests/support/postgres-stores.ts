import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
// The reader threads are started from their built file, so the tests use the built engine.
import { openPostgresStore } from "../../dist/store/postgres/postgres-store.js";
import type { Store } from "../../src/store/store.ts";
import { createTestDatabase } from "./postgres-server.ts";
import type { TestDatabase } from "./postgres-server.ts";

/** Several stores on one database, which is what several servers use. Each has connections of its own. */
export class PostgresStores {
  readonly database: TestDatabase;
  /** The folder with the key of share links. */
  readonly folder: string;
  readonly #stores: Store[] = [];

  private constructor(database: TestDatabase, folder: string) {
    this.database = database;
    this.folder = folder;
  }

  static async create(): Promise<PostgresStores> {
    const folder = await mkdtemp(join(tmpdir(), "millrace-postgres-"));
    return new PostgresStores(await createTestDatabase(), folder);
  }

  async open(url = this.database.url): Promise<Store> {
    const store = await openPostgresStore(url, { dataDir: this.folder });
    this.#stores.push(store);
    return store;
  }

  /** Closes the stores that were opened, and deletes the database and the folder. */
  async close(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()));
    await this.database.drop();
    await rm(this.folder, { recursive: true, force: true });
  }
}
