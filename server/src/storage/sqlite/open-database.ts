import { dirname } from "node:path";
import type { Connection } from "./connection.ts";
import { defineTokenFunctions, TokenKeys } from "./token-keys.ts";
import { openDatabase } from "./connection.ts";

/** Name of the database file in the data folder. */
export const databaseFileName = "millrace.db";

/** Size of SQLite's page cache for one connection. */
export const cacheKibibytes = 65_536;

/** Opens a read-only connection. */
export function openReader(path: string): Connection {
  const db = openDatabase(path);
  defineTokenFunctions(db, TokenKeys.read(dirname(path)));
  db.exec(`PRAGMA query_only = ON; PRAGMA cache_size = -${cacheKibibytes};`);
  return db;
}

/** Opens a connection that only writes the write-ahead log back into the database. */
export function openCheckpointer(path: string): Connection {
  const db = openDatabase(path);
  db.exec("PRAGMA synchronous = NORMAL");
  return db;
}

/** Reads the id of the tenant to which requests without an access key belong. */
export const readDefaultTenantId = (db: Connection): string =>
  String(db.prepare("SELECT value FROM settings WHERE key = 'tenant_id'").raw().all().flat()[0]);
