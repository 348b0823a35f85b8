import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import { assertMillraceDatabase, writeApplicationId } from "../storage/sqlite/identity.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import { addedTables } from "./repositories.ts";
import { annotationQueueTables, queueReviewTables } from "../queues/annotation-queue-tables.ts";
import { checksumColumns } from "../runs/sqlite/checksum-columns.ts";
import { comparativeTables } from "../experiments/comparative-tables.ts";
import { datasetTables } from "../datasets/dataset-tables.ts";
import { examplePlaceTables } from "../datasets/examples/sqlite/example-place-tables.ts";
import { feedbackTables } from "../feedback/feedback-tables.ts";
import { runFacetRepairs, runFacetTables } from "../runs/tables/run-facet-tables.ts";
import { runCountRepairs, runListTables } from "../runs/tables/run-list-tables.ts";
import { runMeasureTables } from "../runs/tables/run-measure-tables.ts";
import { shareTables, tokenTables } from "../shares/share-tables.ts";
import { spanTables } from "../runs/tables/span-tables.ts";
import { promptTables } from "../prompts/prompt-tables.ts";
import { tenantKeyTables, tenantTables } from "../tenants/tenant-tables.ts";
import { textIndexTables } from "../runs/tables/text-index-tables.ts";
import { defineTokenFunctions, TokenKeys } from "../storage/sqlite/token-keys.ts";
import { eraseLog } from "../storage/sqlite/write-ahead-log.ts";
import { openDatabase } from "../storage/sqlite/connection.ts";
import { warnOfConversion } from "../storage/thread-warnings.ts";
import { cacheKibibytes } from "../storage/sqlite/open-database.ts";

/**
 * With pages of 16 KiB, committing runs of 5.5 kB costs less than half as much as with pages of 4 KiB, because a
 * payload then needs no overflow pages.
 */
const pageBytes = 16_384;
/**
 * Number of pages in the write-ahead log (256 MiB) at which a commit runs a checkpoint itself. Normally `Checkpointer`
 * runs one earlier, on another thread.
 */
const maxLogPages = 16_384;

/** SQLite's name for a database that has no file. */
const memoryPath = ":memory:";

/** Opens the only connection that writes, and creates or migrates the tables. */
export function openWriter(path: string): Connection {
  const db = openDatabase(path);
  assertMillraceDatabase(db);
  defineTokenFunctions(
    db,
    path === memoryPath ? TokenKeys.createRandom() : TokenKeys.readOrCreate(dirname(path)),
  );
  // secure_delete overwrites deleted rows with zeros, in the database and in the pages that the log receives.
  db.exec(`PRAGMA secure_delete = ON;
    PRAGMA page_size = ${pageBytes};
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA wal_autocheckpoint = ${maxLogPages};
    PRAGMA cache_size = -${cacheKibibytes};
    PRAGMA temp_store = MEMORY;`);
  migrate(db);
  writeApplicationId(db);
  return db;
}

/**
 * Opens a second connection that writes, while a server is running. It does not migrate tables and never runs a
 * checkpoint; the server does both.
 *
 * @throws Error the server uses another database format.
 */
export function openSecondWriter(path: string): Connection {
  const db = openDatabase(path);
  const format = readFormat(db);
  if (format !== formatMigrations.length) {
    db.close();
    throw new Error(
      `the running server's database has format ${format}, but this command supports format ${formatMigrations.length}: run the command in the version of the server`,
    );
  }
  db.exec("PRAGMA wal_autocheckpoint = 0; PRAGMA secure_delete = ON");
  return db;
}

const readFormat = (db: Connection): number =>
  Number(db.prepare("PRAGMA user_version").raw().all().flat()[0] ?? 0);

/** @throws Error the format of the database is not that of this version, so its rows can't be read as they are. */
export function assertCurrentFormat(db: Connection): void {
  const format = readFormat(db);
  if (format !== formatMigrations.length) {
    throw new Error(
      `the database has format ${format}, but this command reads format ${formatMigrations.length}: ${
        format < formatMigrations.length
          ? "start a server of this version on the folder once, which converts the database"
          : "use a newer version of the command"
      }`,
    );
  }
}

/** @throws Error the database is of a later version. */
export function assertKnownFormat(db: Connection): void {
  const format = readFormat(db);
  if (format > formatMigrations.length) {
    throw new Error(
      `the database has format ${format}, but this server supports formats up to ${formatMigrations.length}: use a newer server`,
    );
  }
}

function migrate(db: Connection): void {
  assertKnownFormat(db);
  const format = readFormat(db);
  if (format < formatMigrations.length) {
    if (format > 0) {
      warnOfConversion(format, formatMigrations.length);
    }
    const hadPlainTokens = format > 0 && format < firstEncryptedFormat && hasPlainTokens(db);
    db.exec(
      `BEGIN; ${formatMigrations.slice(format).join("")} PRAGMA user_version = ${formatMigrations.length};`,
    );
    if (hadPlainTokens) {
      overwriteFreePages(db);
    }
    db.exec("COMMIT");
    if (hadPlainTokens) {
      eraseLog(db);
    }
  }
  createDefaultTenant(db);
}

/** The first format that stores tokens encrypted. */
const firstEncryptedFormat = 11;

function hasPlainTokens(db: Connection): boolean {
  const names = db
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table'")
    .raw()
    .all()
    .flat();
  const conditions = [
    ["shares", "token IS NOT NULL"],
    ["feedback_tokens", "token IS NOT NULL"],
    ["datasets", "share_token IS NOT NULL"],
  ] as const;
  return conditions.some(
    ([table, condition]) =>
      names.includes(table) &&
      db.prepare(`SELECT 1 FROM ${table} WHERE ${condition} LIMIT 1`).all().length > 0,
  );
}

/**
 * Overwrites unused pages, in which older versions left deleted data that may include copies of tokens: rows of zeros
 * are written to all of these pages and then dropped.
 */
function overwriteFreePages(db: Connection): void {
  db.exec(`CREATE TABLE zeros (part BLOB NOT NULL);
    WITH RECURSIVE rest (bytes) AS (
      SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size
      UNION ALL SELECT bytes - ${zeroRowBytes} FROM rest WHERE bytes > ${zeroRowBytes}
    )
    INSERT INTO zeros SELECT zeroblob(min(bytes, ${zeroRowBytes})) FROM rest;
    DROP TABLE zeros;`);
}

/** Bytes of one row of zeros. SQLite allows up to a gigabyte. */
const zeroRowBytes = 64 * 1_048_576;

/** Creates the default tenant, which serves requests without a key. */
function createDefaultTenant(db: Connection): void {
  db.prepare("INSERT OR IGNORE INTO settings (key, value) VALUES ('tenant_id', ?)").run([
    randomUUID(),
  ]);
  // A database that is older than this setting may already contain projects. In such a database, the creation time of
  // the default tenant is the time at which the first project began.
  db.prepare(
    "INSERT OR IGNORE INTO settings (key, value) SELECT 'tenant_us', coalesce(min(start_us), ?) FROM projects",
  ).run([Date.now() * 1_000]);
  db.exec(`INSERT OR IGNORE INTO tenants (id, handle, display_name_json, created_us)
    SELECT i.value, NULL, '"local"', CAST(CAST(u.value AS REAL) AS INTEGER) FROM settings i, settings u
    WHERE i.key = 'tenant_id' AND u.key = 'tenant_us'`);
}

/**
 * The tables of format 1. Everything that belongs to a run has the key (trace_id, id), so that the tables could be
 * distributed by trace. Payloads are in a table of their own: `runs` stays narrow, and an update of a run adds a
 * payload row instead of rewriting one. Names of projects are JSON texts, because SQLite's text type can't store lone
 * surrogates.
 */
const firstTables = `
  CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE projects (
    id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, name_json TEXT NOT NULL UNIQUE, start_us INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE runs (
    trace_id TEXT NOT NULL, id TEXT NOT NULL, project_id TEXT NOT NULL, name TEXT NOT NULL, run_type TEXT NOT NULL,
    start_us INTEGER NOT NULL, end_us INTEGER, has_error INTEGER NOT NULL, parent_run_id TEXT,
    dotted_order TEXT NOT NULL, reference_example_id TEXT, posted INTEGER NOT NULL, patched INTEGER NOT NULL,
    PRIMARY KEY (trace_id, id)
  );
  CREATE UNIQUE INDEX runs_by_id ON runs (id);
  CREATE INDEX runs_by_start ON runs (project_id, start_us, id);
  CREATE INDEX roots_by_start ON runs (project_id, start_us, id) WHERE parent_run_id IS NULL;
  CREATE INDEX runs_by_example ON runs (reference_example_id) WHERE reference_example_id IS NOT NULL;
  CREATE TABLE payloads (
    trace_id TEXT NOT NULL, id TEXT NOT NULL, digest TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (trace_id, id, digest)
  );
  CREATE TABLE attachments (
    trace_id TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, content_type TEXT NOT NULL, bytes BLOB NOT NULL,
    PRIMARY KEY (trace_id, id, name)
  );
  CREATE TABLE shares (
    token TEXT PRIMARY KEY, trace_id TEXT NOT NULL, id TEXT NOT NULL, UNIQUE (trace_id, id)
  ) WITHOUT ROWID;
`;

/** Format 2: more columns of projects. */
const projectFields = `
  ALTER TABLE projects ADD COLUMN end_us INTEGER;
  ALTER TABLE projects ADD COLUMN description_json TEXT;
  ALTER TABLE projects ADD COLUMN extra_json TEXT;
  ALTER TABLE projects ADD COLUMN reference_dataset_id TEXT;
`;

/** Format 3: tenants, and all resources other than runs and projects, in this order. */
const catalogTables = [
  tenantTables,
  feedbackTables,
  annotationQueueTables,
  comparativeTables,
  datasetTables,
  spanTables,
  promptTables,
  runFacetTables,
  runMeasureTables,
];

/** Format 4: reviews in annotation queues. */
const reviewTables = [queueReviewTables];

/** The SQL that migrates each format to the next, so that a database of any earlier format can be opened. */
export const formatMigrations: readonly string[] = [
  firstTables,
  projectFields,
  catalogTables.join(""),
  reviewTables.join(""),
  runListTables,
  runCountRepairs,
  examplePlaceTables,
  runFacetRepairs,
  textIndexTables,
  checksumColumns,
  tokenTables,
  tenantKeyTables,
  shareTables,
  ...addedTables,
];
