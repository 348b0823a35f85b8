import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import { assertOurs, markAsOurs } from "../storage/sqlite/identity.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import { annotationQueueTables } from "../queues/annotation-queue-tables.ts";
import { checksumColumns } from "../runs/sqlite/checksum-columns.ts";
import { comparativeTables } from "../experiments/comparative-tables.ts";
import { datasetTables } from "../datasets/dataset-tables.ts";
import { examplePlaceTables } from "../datasets/examples/sqlite/example-place-tables.ts";
import { feedbackTables } from "../feedback/feedback-tables.ts";
import { queueReviewTables } from "../queues/queue-review-tables.ts";
import { runFacetRepairs, runFacetTables } from "../runs/tables/run-facet-tables.ts";
import { runCountsOfDeleted, runListTables } from "../runs/tables/run-list-tables.ts";
import { runMeasureTables } from "../runs/tables/run-measure-tables.ts";
import { shareTables } from "../shares/share-tables.ts";
import { spanTables } from "../runs/tables/span-tables.ts";
import { promptTables } from "../prompts/prompt-tables.ts";
import { tenantKeyTables } from "../tenants/tenant-key-tables.ts";
import { tenantTables } from "../tenants/tenant-tables.ts";
import { textIndexTables } from "../runs/tables/text-index-tables.ts";
import { tokenTables } from "../shares/token-tables.ts";
import { defineTokenFunctions, TokenKeys } from "../storage/sqlite/token-keys.ts";
import { eraseLog } from "../storage/sqlite/write-ahead-log.ts";
import { openDatabase } from "../storage/sqlite/connection.ts";
import { cacheKibibytes } from "../storage/sqlite/open-database.ts";

/**
 * Measured with runs of 5.5 kB: pages of 16 KiB cost a commit less than half of what 4 KiB cost, since
 * a payload then needs no page of its own.
 */
const pageBytes = 16_384;
/** Pages from which on a commit writes it back itself, where `Checkpointer` has not come to it: 256 MiB. */
const logPagesMax = 16_384;

/** SQLite's name for a database that has no file. */
const inMemory = ":memory:";

/** Opens the one connection that writes, and makes the tables when they are missing. */
export function openWriter(path: string): Connection {
  const db = openDatabase(path);
  assertOurs(db);
  defineTokenFunctions(
    db,
    path === inMemory ? TokenKeys.random() : TokenKeys.prepare(dirname(path)),
  );
  // Deleted rows are written over with zeros, in the database and in what replaces them in the log.
  db.exec(`PRAGMA secure_delete = ON;
    PRAGMA page_size = ${pageBytes};
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA wal_autocheckpoint = ${logPagesMax};
    PRAGMA cache_size = -${cacheKibibytes};
    PRAGMA temp_store = MEMORY;`);
  migrate(db);
  markAsOurs(db);
  return db;
}

/**
 * Opens one more connection that writes, beside a server that is at work: its tables stay as they are, and
 * its log is written back by the server alone.
 *
 * @throws Error the server's format is another one.
 */
export function openSecondWriter(path: string): Connection {
  const db = openDatabase(path);
  const found = readFormat(db);
  if (found !== formats.length) {
    db.close();
    throw new Error(
      `the running server's database has format ${found}, this command knows ${formats.length}: use the command of the server's version`,
    );
  }
  db.exec("PRAGMA wal_autocheckpoint = 0; PRAGMA secure_delete = ON");
  return db;
}

const readFormat = (db: Connection): number =>
  Number(db.prepare("PRAGMA user_version").raw().all().flat()[0] ?? 0);

function migrate(db: Connection): void {
  const found = readFormat(db);
  if (found > formats.length) {
    throw new Error(
      `the database has format ${found}, this server knows formats up to ${formats.length}: use a newer server`,
    );
  }
  if (found < formats.length) {
    const hadClearTokens = found > 0 && found < sealedFormat && hasClearTokens(db);
    db.exec(`BEGIN; ${formats.slice(found).join("")} PRAGMA user_version = ${formats.length};`);
    if (hadClearTokens) {
      overwriteFreePages(db);
    }
    db.exec("COMMIT");
    if (hadClearTokens) {
      eraseLog(db);
    }
  }
  makeDefaultTenant(db);
}

/** The first format that holds no token in clear. */
const sealedFormat = 11;

function hasClearTokens(db: Connection): boolean {
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
 * Older versions left what they deleted in pages that nothing uses: copies of tokens may be among it. A row of zeros
 * takes all of these pages, and is given back.
 */
function overwriteFreePages(db: Connection): void {
  db.exec(`CREATE TABLE zeros (part BLOB NOT NULL);
    WITH RECURSIVE rest (bytes) AS (
      SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size
      UNION ALL SELECT bytes - ${zerosBytes} FROM rest WHERE bytes > ${zerosBytes}
    )
    INSERT INTO zeros SELECT zeroblob(min(bytes, ${zerosBytes})) FROM rest;
    DROP TABLE zeros;`);
}

/** Of one row; SQLite takes up to a gigabyte. */
const zerosBytes = 64 * 1_048_576;

/** The tenant of requests without a key. */
function makeDefaultTenant(db: Connection): void {
  db.prepare("INSERT OR IGNORE INTO settings (key, value) VALUES ('tenant_id', ?)").run([
    randomUUID(),
  ]);
  // A database of before this was kept is as old as its first project.
  db.prepare(
    "INSERT OR IGNORE INTO settings (key, value) SELECT 'tenant_us', coalesce(min(start_us), ?) FROM projects",
  ).run([Date.now() * 1_000]);
  db.exec(`INSERT OR IGNORE INTO tenants (id, handle, display_name_json, created_us)
    SELECT i.value, NULL, '"local"', CAST(CAST(u.value AS REAL) AS INTEGER) FROM settings i, settings u
    WHERE i.key = 'tenant_id' AND u.key = 'tenant_us'`);
}

/**
 * Everything of a run is keyed by (trace_id, id), so that the same tables can be spread over machines
 * by trace. Payloads stand apart: `runs` stays narrow, and a patch adds a row without rewriting one.
 * Names of projects are JSON texts: SQLite's text type loses lone surrogates.
 */
const tables = `
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

/** Format 2: what a project holds beside its name. */
const projectFields = `
  ALTER TABLE projects ADD COLUMN end_us INTEGER;
  ALTER TABLE projects ADD COLUMN description_json TEXT;
  ALTER TABLE projects ADD COLUMN extra_json TEXT;
  ALTER TABLE projects ADD COLUMN reference_dataset_id TEXT;
`;

/** Format 3: tenants, and everything beside runs and projects. One text a resource, in this order. */
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

/** Format 4: what the page works with. */
const reviewTables = [queueReviewTables];

/** What leads from each format to the next. A database of any of them is taken over. */
export const formats: readonly string[] = [
  tables,
  projectFields,
  catalogTables.join(""),
  reviewTables.join(""),
  runListTables,
  runCountsOfDeleted,
  examplePlaceTables,
  runFacetRepairs,
  textIndexTables,
  checksumColumns,
  tokenTables,
  tenantKeyTables,
  shareTables,
];
