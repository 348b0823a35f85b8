import { randomUUID } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { AuditRepository } from "../audit/audit-repository.ts";
import { createCommandEntry } from "../audit/command-entry.ts";
import { messageOf, RequestError, ServerError } from "../model/errors.ts";
import { Partitions } from "../runs/postgres/partitions.ts";
import { migrate } from "../storage/postgres/migrations.ts";
import type { PostgresClient } from "../storage/postgres/postgres-client.ts";
import { PostgresDatabase } from "../storage/postgres/postgres-database.ts";
import { allTenants } from "../storage/postgres/tenant-policies.ts";
import { runTransaction } from "../storage/postgres/transaction.ts";
import { openConnection, rollBack } from "../storage/sqlite/connection.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import { prepareFolder, restrictFiles } from "../storage/sqlite/folder.ts";
import { lockFolder } from "../storage/sqlite/folder-lock.ts";
import { assertMillraceDatabase } from "../storage/sqlite/identity.ts";
import { databaseFileName } from "../storage/sqlite/open-database.ts";
import { SqliteDatabase } from "../storage/sqlite/sqlite-database.ts";
import {
  addTokenKeys,
  appendTokenKeys,
  assertTokenKeys,
  tokenKeyFileName,
} from "../storage/sqlite/token-keys.ts";
import { assertFree, copyTokenKey } from "../store/backup.ts";
import { createTenantLock } from "../store/postgres/call-plan.ts";
import { commandLimits, connectCommand, readSnapshot } from "../store/postgres/command-session.ts";
import { findOrCreateDefaultTenant } from "../store/postgres/default-tenant.ts";
import { postgresFormats } from "../store/postgres/formats.ts";
import { assertCurrentFormat, openWriter } from "../store/schema.ts";
import { assertHandle } from "../tenants/tenant-writer.ts";
import { portableTables } from "./portable-tables.ts";
import { PostgresRows, tenantCondition } from "./postgres-rows.ts";
import { PostgresTarget, reserveNumbers } from "./postgres-target.ts";
import { SqliteRows } from "./sqlite-rows.ts";
import { readSqliteOffsets, SqliteTarget } from "./sqlite-target.ts";
import {
  checkTenantFile,
  listFilledTables,
  writeTenantFile,
  writeTenantRows,
} from "./tenant-backup.ts";
import type { CheckedFile } from "./tenant-backup.ts";
import type { TableSum, TenantBackup } from "./table-sums.ts";
import type { NumberOffsets, RowSource, RowTarget, TenantIdentity } from "./tenant-rows.ts";

/** Where the rows of a tenant are. */
export interface TenantPlace {
  /**
   * The tenant: its handle or its id, or `default` for the tenant that serves requests without a key.
   */
  readonly tenant: string;
  /** The data folder of the server. If `store` is set, only the file `token.key` in this folder is used. */
  readonly dataDir: string;
  /** The URL of a PostgreSQL database. @defaultValue the database of the data folder */
  readonly store?: string | undefined;
  /**
   * A backup copies the keys that encrypt secrets to this file, and a restore adds the keys of this file to the data
   * folder. @defaultValue the keys are not copied
   */
  readonly tokenKeyFile?: string | undefined;
}

export interface TenantRestoreOptions extends TenantPlace {
  /**
   * Whether the data that the tenant has already is deleted first, in the same transaction. @defaultValue false
   */
  readonly replace?: boolean | undefined;
}

/** The tenant that was restored, and its rows. */
export interface TenantRestoreResult {
  readonly tenantId: string;
  readonly tables: readonly TableSum[];
}

/**
 * Copies everything that belongs to a tenant to a new file, which can be restored into either engine. Servers may be
 * running: the file has the state of one moment.
 *
 * @throws {@link ServerError} there is no such tenant, a file exists, or can't be written. No file is left behind.
 */
export async function createTenantBackup(
  file: string,
  { tenant, dataDir, store, tokenKeyFile }: TenantPlace,
): Promise<TenantBackup> {
  if (tokenKeyFile !== undefined) {
    assertFree(tokenKeyFile);
  }
  const backup =
    store === undefined
      ? await backUpFolder(file, tenant, dataDir)
      : await backUpStore(file, tenant, store);
  if (tokenKeyFile !== undefined) {
    try {
      copyTokenKey(dataDir, tokenKeyFile);
    } catch (cause) {
      rmSync(file);
      throw new ServerError(
        "BACKUP",
        `Failed to back up the tenant ${tenant}: ${messageOf(cause)}`,
        { cause },
      );
    }
  }
  return backup;
}

async function backUpFolder(file: string, tenant: string, dataDir: string): Promise<TenantBackup> {
  const path = join(resolve(dataDir), databaseFileName);
  if (!existsSync(path)) {
    throw new ServerError(
      "BACKUP",
      `there is no database in ${resolve(dataDir)}: name the data folder of the server`,
    );
  }
  return withSnapshot(path, (db) => writeTenantFile(new SqliteRows(db), tenant, file));
}

/** Reads one state of a SQLite database. Its write-ahead log can't be shortened meanwhile. */
async function withSnapshot<Result>(
  path: string,
  read: (db: Connection) => Promise<Result>,
): Promise<Result> {
  const db = openConnection(path, { busyMs: 5_000 });
  try {
    assertMillraceDatabase(db);
    db.exec("PRAGMA query_only = ON; BEGIN");
    assertCurrentFormat(db);
    return await read(db);
  } catch (cause) {
    throw cause instanceof ServerError
      ? cause
      : new ServerError("BACKUP", `Failed to read ${path}: ${messageOf(cause)}`, { cause });
  } finally {
    db.close();
  }
}

async function backUpStore(file: string, tenant: string, store: string): Promise<TenantBackup> {
  const connection = await connectCommand(store);
  try {
    return await readSnapshot(connection, () =>
      writeTenantFile(new PostgresRows(connection), tenant, file),
    );
  } finally {
    await connection.close();
  }
}

/**
 * Restores a tenant from a file: everything, or nothing. The rows are written and read back in one transaction, which
 * is committed only if their numbers and hashes are those of the file. Until then nobody sees any of the rows, and a
 * restore that is interrupted changes nothing.
 *
 * @throws {@link ServerError} the file is damaged or of a later version, the tenant has data and `replace` is not set,
 * or a server uses the data folder. Or the tenant was restored, but the keys of `tokenKeyFile` could not be added.
 */
export async function restoreTenant(
  file: string,
  options: TenantRestoreOptions,
): Promise<TenantRestoreResult> {
  const checked = await checkTenantFile(file);
  if (options.tokenKeyFile !== undefined && !existsSync(options.tokenKeyFile)) {
    throw new ServerError("BACKUP", `there is no file ${options.tokenKeyFile}`);
  }
  try {
    if (options.tokenKeyFile !== undefined) {
      assertTokenKeys(options.tokenKeyFile);
    }
    return await (options.store === undefined
      ? restoreIntoFolder(file, checked, options)
      : restoreIntoStore(file, checked, { ...options, store: options.store }));
  } catch (cause) {
    throw cause instanceof ServerError
      ? cause
      : new ServerError(
          "BACKUP",
          `Failed to restore the tenant ${options.tenant}, and nothing was changed: ${explain(cause)}`,
          { cause },
        );
  }
}

/** Explains an error. For a duplicate row, also names what must be unique in the whole database, and what to do. */
function explain(cause: unknown): string {
  const reason = messageOf(cause);
  return isDuplicate(cause)
    ? `${reason}. Keys, links, prompts and the audit log are unique in a database: delete the tenant that has them, or restore into another database`
    : reason;
}

async function restoreIntoFolder(
  file: string,
  checked: CheckedFile,
  options: TenantRestoreOptions,
): Promise<TenantRestoreResult> {
  const folder = prepareFolder(options.dataDir);
  const lock = lockFolder(folder);
  try {
    const hasKeys = existsSync(join(folder, tokenKeyFileName));
    const db = openWriter(join(folder, databaseFileName));
    restrictFiles(folder);
    try {
      db.exec("BEGIN IMMEDIATE");
      const result = await restoreInto(file, checked, {
        options,
        rows: new SqliteRows(db),
        insertTenant: async ({ id, handle, displayNameJson, createdMicros }) => {
          db.prepare(
            "INSERT INTO tenants (id, handle, display_name_json, created_us) VALUES (?, ?, ?, ?)",
          ).run([id, handle, displayNameJson, createdMicros]);
        },
        deleteRows: async (tenantId) => deleteSqliteRows(db, tenantId),
        openTarget: async (tenantId) => {
          const offsets = readSqliteOffsets(db);
          return { target: new SqliteTarget(db, tenantId, offsets), offsets };
        },
        audit: new AuditRepository(new SqliteDatabase(db)),
      });
      db.exec("COMMIT");
      addKeysOfBackup(folder, options, { areFirst: !hasKeys });
      return result;
    } finally {
      rollBack(db);
      db.close();
    }
  } finally {
    lock.release();
  }
}

/**
 * Adds the keys of `tokenKeyFile` to those of a data folder. The tenant is committed before, so that a restore that
 * fails adds no keys.
 *
 * @param areFirst - whether the folder had no keys before the restore. Opening the database has created one then, and
 * the keys of the backup come before it, so that new links are encrypted with a key of which there is a copy.
 * @throws ServerError the keys can't be written.
 */
function addKeysOfBackup(
  folder: string,
  { tenant, tokenKeyFile }: TenantRestoreOptions,
  { areFirst }: { readonly areFirst: boolean },
): void {
  if (tokenKeyFile === undefined) {
    return;
  }
  try {
    if (areFirst) {
      addTokenKeys(folder, tokenKeyFile);
    } else {
      appendTokenKeys(folder, tokenKeyFile);
    }
  } catch (cause) {
    throw new ServerError(
      "BACKUP",
      `the tenant ${tenant} was restored, but the keys of ${tokenKeyFile} were not added to ${join(folder, tokenKeyFileName)}: ${messageOf(cause)}. Add the lines of the first file to the end of the second one`,
      { cause },
    );
  }
}

function deleteSqliteRows(db: Connection, tenantId: string): void {
  const runs = `FROM runs r JOIN projects p ON p.id = r.project_id WHERE p.tenant_id = ?1`;
  db.prepare(
    `DELETE FROM payloads WHERE rowid IN (SELECT t.rowid FROM payloads t JOIN runs r ON r.trace_id = t.trace_id AND r.id = t.id
       JOIN projects p ON p.id = r.project_id WHERE p.tenant_id = ?1)`,
  ).run([tenantId]);
  db.prepare(
    `DELETE FROM example_texts WHERE rowid IN (SELECT key FROM examples WHERE tenant_id = ?1)`,
  ).run([tenantId]);
  for (const { name, sqlite } of portableTables.toReversed()) {
    if (name === "runs") {
      db.prepare(`DELETE FROM runs WHERE id IN (SELECT r.id ${runs})`).run([tenantId]);
    } else if (sqlite.tenant === "t.tenant_id") {
      db.prepare(`DELETE FROM ${name} WHERE tenant_id = ?1`).run([tenantId]);
    } else {
      const key = deletionKeys[name] ?? "digest";
      db.prepare(
        `DELETE FROM ${name} WHERE ${key} IN (SELECT t.${key} FROM ${sqlite.from} WHERE ${sqlite.tenant} = ?1)`,
      ).run([tenantId]);
    }
  }
  db.prepare("DELETE FROM tenant_keys WHERE tenant_id = ?1").run([tenantId]);
}

/** For tables without a column for the tenant: the column by which their rows are deleted. The default is `digest`. */
const deletionKeys: Readonly<Record<string, string>> = { attachments: "rowid", settings: "key" };

async function restoreIntoStore(
  file: string,
  checkedFile: CheckedFile,
  options: TenantRestoreOptions & { readonly store: string },
): Promise<TenantRestoreResult> {
  const folder = options.tokenKeyFile === undefined ? "" : prepareFolder(options.dataDir);
  const connection = await connectCommand(options.store);
  try {
    await migrate(connection, postgresFormats);
    await findOrCreateDefaultTenant(connection);
    const result = await restoreIntoPostgres(file, checkedFile, { options, client: connection });
    addKeysOfBackup(folder, options, { areFirst: false });
    return result;
  } finally {
    await connection.close();
  }
}

/**
 * Restores a tenant into a database with the tables of this version and a default tenant.
 *
 * @internal
 */
export async function restoreIntoPostgres(
  file: string,
  checked: CheckedFile,
  {
    options,
    client,
  }: {
    readonly options: Pick<TenantRestoreOptions, "tenant" | "replace">;
    readonly client: PostgresClient;
  },
): Promise<TenantRestoreResult> {
  await createPartitions(client, checked.weeks);
  const rows = new PostgresRows(client);
  const existingTenant = await rows.findTenant(options.tenant);
  const locks =
    existingTenant === undefined
      ? []
      : [
          createTenantLock(existingTenant.id, "datasets"),
          createTenantLock(existingTenant.id, "rest"),
        ];
  return runTransaction(
    client,
    {
      tenant: allTenants,
      isReadOnly: false,
      ...commandLimits,
      locks: [{ name: "all/tenants", isShared: true }, ...locks],
    },
    () =>
      restoreInto(file, checked, {
        options,
        rows,
        insertTenant: async ({ id, handle, displayNameJson, createdMicros }) => {
          await client.run({
            text: "INSERT INTO tenants (id, handle, display_name_json, created_us) VALUES ($1, $2, $3, $4)",
            values: [id, handle, displayNameJson, createdMicros],
          });
        },
        deleteRows: (tenantId) => deletePostgresRows(client, tenantId),
        openTarget: async (tenantId) => {
          const offsets = await reserveNumbers(client, checked.lastNumbers);
          return { target: new PostgresTarget(client, tenantId, { offsets }), offsets };
        },
        audit: new AuditRepository(new PostgresDatabase(client)),
      }),
  );
}

/**
 * Creates the partitions that runs need. Each is created in a short transaction of its own, because creating one waits
 * for all other transactions, and they wait for it.
 */
async function createPartitions(client: PostgresClient, weeks: Iterable<number>): Promise<void> {
  const partitions = new Partitions(new PostgresDatabase(client));
  for (const week of weeks) {
    await runTransaction(
      client,
      { tenant: allTenants, isReadOnly: false, ...commandLimits, locks: [] },
      () => partitions.ensure([week]),
    );
  }
}

async function deletePostgresRows(client: PostgresClient, tenantId: string): Promise<void> {
  const derived = ["example_texts", "threads", "run_facets", "payloads", "run_keys"];
  for (const table of [...derived, ...portableTables.map(({ name }) => name).toReversed()]) {
    await client.exec(`DELETE FROM ${table} WHERE ${tenantCondition(table, tenantId)}`);
  }
}

/** The options of a restore, and the operations on one engine that it uses within its transaction. */
interface RestoreEngine {
  readonly options: Pick<TenantRestoreOptions, "tenant" | "replace">;
  readonly rows: RowSource;
  readonly insertTenant: (tenant: TenantIdentity) => Promise<void>;
  readonly deleteRows: (tenantId: string) => Promise<void>;
  readonly openTarget: (
    tenantId: string,
  ) => Promise<{ readonly target: RowTarget; readonly offsets: NumberOffsets }>;
  readonly audit: AuditRepository;
}

async function restoreInto(
  file: string,
  { tenant }: CheckedFile,
  { options, rows, insertTenant, deleteRows, openTarget, audit }: RestoreEngine,
): Promise<TenantRestoreResult> {
  const existing = await rows.findTenant(options.tenant);
  const tenantId = existing?.id ?? (await chooseId(rows, tenant.id));
  if (existing === undefined) {
    assertTenantName(options.tenant);
    await insertTenant({ ...tenant, id: tenantId, handle: options.tenant });
  } else if (options.replace === true) {
    await deleteRows(tenantId);
  } else {
    await assertEmpty(rows, options.tenant, tenantId);
  }
  const { target, offsets } = await openTarget(tenantId);
  const tables = await writeTenantRows(file, target, { tenantId, offsets }).catch(
    (cause: unknown) => {
      throw existing !== undefined && options.replace !== true && isDuplicate(cause)
        ? createDuplicateError(options.tenant, cause)
        : cause;
    },
  );
  const rowCount = tables.reduce((sum, { count }) => sum + count, 0);
  await audit.record(
    tenantId,
    createCommandEntry(tenantId, "restoreTenant", `${options.tenant}, ${rowCount} rows`),
  );
  return { tenantId, tables };
}

const isDuplicate = (cause: unknown): boolean => /unique/i.test(messageOf(cause));

/**
 * The error for a tenant that exists without data, if the database already has a row of the backup. Most often this is
 * an API key of the tenant.
 */
const createDuplicateError = (tenant: string, cause: unknown): ServerError =>
  new ServerError(
    "BACKUP",
    `Failed to restore the tenant ${tenant}, and nothing was changed: the tenant exists, and the database has a key, link, prompt or audit entry of the backup already (${messageOf(cause)}). If it belongs to this tenant, pass --replace, which deletes what the tenant has. If it belongs to another one, delete that tenant, or restore into another database`,
    { cause },
  );

/** Chooses the id of a restored tenant: its own, unless another tenant of the database has it. */
const chooseId = async (rows: RowSource, id: string): Promise<string> =>
  (await rows.findTenant(id)) === undefined ? id : randomUUID();

function assertTenantName(name: string): void {
  try {
    assertHandle(name);
  } catch (cause) {
    throw cause instanceof RequestError
      ? new ServerError(
          "BACKUP",
          `there is no tenant ${JSON.stringify(name).slice(0, 80)}, and none can be created: ${cause.message}`,
          { cause },
        )
      : cause;
  }
}

async function assertEmpty(rows: RowSource, name: string, tenantId: string): Promise<void> {
  const filled = await listFilledTables(rows, tenantId);
  if (filled.length > 0) {
    throw new ServerError(
      "BACKUP",
      `the tenant ${name} has data already (${filled.join(", ")}): choose another name, or pass --replace, which deletes what the tenant has`,
    );
  }
}
