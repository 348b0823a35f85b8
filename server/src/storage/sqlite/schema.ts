import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import { assertOurs, markAsOurs } from "./identity.ts";
import { openConnection } from "./connection.ts";
import type { Connection } from "./connection.ts";
import { annotationQueueTables } from "./tables/annotation-queues.ts";
import { checksumColumns } from "./tables/checksums.ts";
import { comparativeTables } from "./tables/comparatives.ts";
import { datasetTables } from "./tables/datasets.ts";
import { examplePlaceTables } from "./tables/example-places.ts";
import { feedbackTables } from "./tables/feedback.ts";
import { queueReviewTables } from "./tables/queue-reviews.ts";
import { runFacetRepairs, runFacetTables } from "./tables/run-facets.ts";
import { runCountsOfDeleted, runListTables } from "./tables/run-lists.ts";
import { runMeasureTables } from "./tables/run-measures.ts";
import { shareTables } from "./tables/shares.ts";
import { spanTables } from "./tables/spans.ts";
import { promptTables } from "./tables/prompts.ts";
import { tenantKeyTables } from "./tables/tenant-keys.ts";
import { tenantTables } from "./tables/tenants.ts";
import { textIndexTables } from "./tables/text-index.ts";
import { tokenTables } from "./tables/tokens.ts";
import { defineTokenFunctions, TokenKeys } from "../../shares/token-keys.ts";

export type { Connection } from "./connection.ts";

/** The file in the data folder. */
export const databaseFile = "millrace.db";

/** Milliseconds to wait for another connection's lock. */
const busyMs = 5_000;
/** The same where what waits is the end of the server. */
const foldMs = 1_000;

/**
 * Measured with runs of 5.5 kB: pages of 16 KiB cost a commit less than half of what 4 KiB cost, since
 * a payload then needs no page of its own.
 */
const pageBytes = 16_384;

/** Pages that the write-ahead log holds before it begins anew: 64 MiB. */
export const logPages = 4_096;
/** Pages from which on a commit writes it back itself, where `Checkpointer` has not come to it: 256 MiB. */
const logPagesMax = 16_384;
const cacheKibibytes = 65_536;

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
export function openBeside(path: string): Connection {
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

/** Opens a connection that can't write. */
export function openReader(path: string): Connection {
  const db = openDatabase(path);
  defineTokenFunctions(db, TokenKeys.read(dirname(path)));
  db.exec(`PRAGMA query_only = ON; PRAGMA cache_size = -${cacheKibibytes};`);
  return db;
}

/** Opens a connection that only writes the log back; see {@link writeBack}. */
export function openCheckpointer(path: string): Connection {
  const db = openDatabase(path);
  db.exec("PRAGMA synchronous = NORMAL");
  return db;
}

/** How far a log was written back. */
export interface WrittenBack {
  /** That the log holds. */
  readonly pages: number;
  /** Whether each of them is in the database. */
  readonly isWhole: boolean;
  /** Whether many are not: somebody read what was before them. */
  readonly isFarBehind?: boolean;
}

/**
 * Writes back what of the log no one reads or writes just now, and waits for no one. What can't be written
 * back stays in it.
 */
export function writeBack(db: Connection): WrittenBack {
  const rows = db.prepare("PRAGMA wal_checkpoint(PASSIVE)").raw().all() as readonly number[][];
  const [, pages = 0, written = 0] = rows[0] ?? [];
  return { pages, isWhole: pages === written, isFarBehind: pages - written > fewPages };
}

/**
 * Calls {@link writeBack} until little comes meanwhile: the log then needs but a moment between two commits
 * to begin anew. Gives how far it came.
 *
 * A log that is written back as a whole is left alone: the next commit begins it anew.
 */
export function catchUp(write: () => WrittenBack): WrittenBack {
  let last = write();
  let before = 0;
  const isBehind = (): boolean =>
    !last.isWhole && last.pages >= logPages && last.pages - before > fewPages;
  for (let turn = 1; turn < turnsMax && isBehind(); turn += 1) {
    before = last.pages;
    last = write();
  }
  return last;
}

/** 8 MiB. */
const fewPages = 512;
const turnsMax = 5;

/**
 * Folds the log into the database and empties it; where somebody else still reads, as far as that lets it
 * within a second. For a connection that is closed next.
 */
export function foldLog(db: Connection): void {
  db.exec(`PRAGMA busy_timeout = ${foldMs}`);
  db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").raw().all();
}

/**
 * Writes the whole log back and empties it, so that nothing that was deleted stays in it. Waits for nobody
 * for long; gives whether it is done.
 */
export function eraseLog(db: Connection): boolean {
  db.exec(`PRAGMA busy_timeout = ${eraseMs}`);
  try {
    const rows = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").raw().all() as readonly number[][];
    return rows[0]?.[0] === 0;
  } finally {
    db.exec(`PRAGMA busy_timeout = ${busyMs}`);
  }
}

/** Milliseconds that a reader may hold up the writer while the log is erased. */
const eraseMs = 50;

/** Opens any file; used for the lock too. */
export const openDatabase = (path: string, timeoutMs = busyMs): Connection =>
  openConnection(path, { busyMs: timeoutMs });

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

/** The tenant of whoever needs no key. */
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

/** The id of the tenant of whoever needs no key. */
export const readDefaultTenantId = (db: Connection): string =>
  String(db.prepare("SELECT value FROM settings WHERE key = 'tenant_id'").raw().all().flat()[0]);

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

/** Format 3: tenants, and everything beside runs and projects. One text a noun, in this order. */
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

/** Ends the transaction under way, where there is one, without its changes. Never throws. */
export function rollBack(db: Connection): void {
  try {
    if (db.inTransaction) {
      db.exec("ROLLBACK");
    }
  } catch {
    // SQLite rolled it back by itself. The next transaction shows whether the connection still works.
  }
}
