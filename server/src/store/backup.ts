import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { messageOf, ServerError } from "../model/errors.ts";
import { removeTextIndex } from "../runs/sqlite/text-index/text-index.ts";
import { openConnection, openDatabase } from "../storage/sqlite/connection.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import { prepareFolder } from "../storage/sqlite/folder.ts";
import { lockFolder } from "../storage/sqlite/folder-lock.ts";
import { assertMillraceDatabase } from "../storage/sqlite/identity.ts";
import { databaseFileName } from "../storage/sqlite/open-database.ts";
import { ownerOnly, syncFile, syncFolder } from "../storage/sqlite/synced-files.ts";
import { addTokenKeys, tokenKeyFileName } from "../storage/sqlite/token-keys.ts";
import { assertKnownFormat } from "./schema.ts";

export interface BackupOptions {
  /**
   * File to which the key that encrypts the tokens of share links is copied. Keep it apart from the backup: whoever has
   * both can open every link. @defaultValue the key is not copied
   */
  readonly tokenKeyFile?: string | undefined;
}

/**
 * Copies the database of a data folder to a new file, whether or not a server is running on it. The copy has the state
 * of one moment: everything that was acknowledged before the call, and no part of a later write. The copy is checked
 * before it is renamed to `file`.
 *
 * @returns the size of the file, in bytes
 * @throws {@link ServerError} with code `BACKUP`: there is no database, a file exists or can't be written, or the
 * database is damaged. No file is left behind, so the call can be repeated.
 */
export async function createBackup(
  dataDir: string,
  file: string,
  { tokenKeyFile }: BackupOptions = {},
): Promise<number> {
  const source = join(resolve(dataDir), databaseFileName);
  if (!existsSync(source)) {
    throw new ServerError(
      "BACKUP",
      `there is no database in ${resolve(dataDir)}: name the data folder of the server`,
    );
  }
  assertFree(file);
  if (tokenKeyFile !== undefined) {
    assertFree(tokenKeyFile);
  }
  const partial = `${file}.partial`;
  const created = [partial, `${partial}-journal`];
  try {
    // Replace a file that an earlier attempt left behind. Only the owner may read the copy.
    rmSync(partial, { force: true });
    closeSync(openSync(partial, "wx", ownerOnly));
    await copyDatabase(source, partial);
    syncFile(partial);
    if (tokenKeyFile !== undefined) {
      copyTokenKey(dataDir, tokenKeyFile);
      created.push(tokenKeyFile);
    }
    renameSync(partial, file);
    syncFolder(dirname(resolve(file)));
    return statSync(file).size;
  } catch (cause) {
    for (const path of created) {
      rmSync(path, { force: true });
    }
    throw new ServerError("BACKUP", `Failed to back up ${source}: ${messageOf(cause)}`, { cause });
  }
}

async function copyDatabase(source: string, target: string): Promise<void> {
  const db = openDatabase(source);
  try {
    assertMillraceDatabase(db);
    await db.copyTo(target);
  } finally {
    db.close();
  }
  const copy = openDatabase(target);
  try {
    // This mode keeps the whole database in one file, without a write-ahead log beside it.
    copy.exec("PRAGMA journal_mode = DELETE");
    assertIntact(copy);
  } finally {
    copy.close();
  }
}

/**
 * Copies the key that encrypts the tokens of share links from a data folder to a new file.
 *
 * @throws Error the key can't be copied. No file is left behind.
 */
export function copyTokenKey(dataDir: string, file: string): void {
  const source = join(dataDir, tokenKeyFileName);
  if (!existsSync(source)) {
    throw new Error(
      `there is no ${tokenKeyFileName} in ${dataDir}: restore that file, or make the backup without it`,
    );
  }
  copyFileSync(source, file, constants.COPYFILE_EXCL);
  try {
    chmodSync(file, ownerOnly);
    syncFile(file);
  } catch (cause) {
    rmSync(file);
    throw cause;
  }
}

export interface RestoreOptions {
  /** The file to which the token key of the backup was copied. The keys that the folder already has stay valid. */
  readonly tokenKeyFile?: string | undefined;
  /**
   * Whether a database that the folder contains is renamed, so that the backup can take its place. @defaultValue false
   */
  readonly replace?: boolean | undefined;
}

/** What restoring a backup has changed in the data folder. */
export interface RestoreResult {
  /** Where the database that the folder contained is now; absent if it contained none. */
  readonly replacedFile?: string;
  /** Whether the folder has a key file. Without one, the URLs of existing share links can't be shown. */
  readonly hasTokenKey: boolean;
}

/**
 * Puts a backup into a data folder on which no server runs. The backup is checked first, and stays where it is. A
 * database of an earlier version is converted by the next start of the server.
 *
 * @throws {@link ServerError} with code `BACKUP`: the file is not a backup, is damaged or of a later version, or the
 * folder contains a database and `replace` is not set. `DATA_DIR_IN_USE`: a server runs. The database is left as it
 * was.
 */
export function restoreBackup(
  file: string,
  dataDir: string,
  { tokenKeyFile, replace = false }: RestoreOptions = {},
): RestoreResult {
  assertBackup(file);
  if (tokenKeyFile !== undefined && !existsSync(tokenKeyFile)) {
    throw new ServerError("BACKUP", `there is no file ${tokenKeyFile}`);
  }
  const folder = prepareFolder(dataDir);
  const lock = lockFolder(folder);
  try {
    return replaceDatabase(file, folder, { tokenKeyFile, replace });
  } catch (cause) {
    throw cause instanceof ServerError
      ? cause
      : new ServerError("BACKUP", `Failed to restore ${file}: ${messageOf(cause)}`, { cause });
  } finally {
    lock.release();
  }
}

function replaceDatabase(
  file: string,
  folder: string,
  { tokenKeyFile, replace }: RestoreOptions,
): RestoreResult {
  const target = join(folder, databaseFileName);
  const hasDatabase = existsSync(target);
  if (hasDatabase && replace !== true) {
    throw new ServerError(
      "BACKUP",
      `${folder} contains a database: choose another data folder, or pass --replace, which renames the database`,
    );
  }
  const partial = `${target}.partial`;
  copyFileSync(file, partial);
  chmodSync(partial, ownerOnly);
  syncFile(partial);
  if (tokenKeyFile !== undefined) {
    addTokenKeys(folder, tokenKeyFile);
  }
  const replacedFile = hasDatabase ? keepUnderOtherName(target) : undefined;
  removeTextIndex(target);
  // The rename replaces the database in one step, so the folder has a database at every moment.
  renameSync(partial, target);
  syncFolder(folder);
  return {
    ...(replacedFile === undefined ? {} : { replacedFile }),
    hasTokenKey: existsSync(join(folder, tokenKeyFileName)),
  };
}

/**
 * Gives a database a second name, so that it is kept when the backup takes its first name. The write-ahead log is
 * written back or renamed with it, because SQLite would apply a remaining log to the backup.
 */
function keepUnderOtherName(database: string): string {
  const name = chooseFreeName(dirname(database));
  try {
    // Closing the last connection writes the log back and removes it.
    const db = openDatabase(database);
    db.prepare("SELECT 1 FROM sqlite_master LIMIT 1").all();
    db.close();
  } catch {
    // The database is damaged. Its log is renamed with it.
  }
  linkSync(database, name);
  for (const ending of ["-wal", "-shm"]) {
    if (existsSync(database + ending)) {
      renameSync(database + ending, name + ending);
    }
  }
  return name;
}

/**
 * Returns a file name with the current time, and with a number if a database was already replaced in the same second.
 */
function chooseFreeName(folder: string): string {
  const stamp = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, "");
  for (let number = 1; ; number += 1) {
    const name = `millrace.replaced-${stamp}${number === 1 ? "" : `-${number}`}.db`;
    if (!existsSync(join(folder, name))) {
      return join(folder, name);
    }
  }
}

function assertBackup(file: string): void {
  if (!existsSync(file)) {
    throw new ServerError("BACKUP", `there is no file ${file}`);
  }
  try {
    const db = openConnection(file, { busyMs: 0, isReadOnly: true });
    try {
      assertMillraceDatabase(db);
      assertKnownFormat(db);
      if (db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'runs'").all().length === 0) {
        throw new Error("it contains no runs table");
      }
      assertIntact(db);
    } finally {
      db.close();
    }
  } catch (cause) {
    throw new ServerError(
      "BACKUP",
      `${file} can't be restored, because it is not an intact backup: ${messageOf(cause)}`,
      { cause },
    );
  }
}

function assertIntact(db: Connection): void {
  const [fault] = db.prepare("PRAGMA quick_check(1)").raw().all().flat();
  if (fault !== "ok") {
    throw new Error(`the database is damaged (${String(fault)})`);
  }
}

/** @throws {@link ServerError} with code `BACKUP`: the file exists, or its folder does not. */
export function assertFree(file: string): void {
  if (existsSync(file)) {
    throw new ServerError("BACKUP", `${file} exists already: choose another name, or delete it`);
  }
  if (!existsSync(dirname(resolve(file)))) {
    throw new ServerError("BACKUP", `the folder of ${file} does not exist: create it first`);
  }
}
