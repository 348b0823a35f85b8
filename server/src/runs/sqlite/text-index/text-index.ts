import { closeSync, existsSync, openSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Sql } from "../../../filter/sql.ts";
import { toNeedles } from "../../needles.ts";
import { parseRows } from "../../../storage/sqlite/rows.ts";
import { isDiskFull } from "../../../storage/sqlite/disk-reserve.ts";
import { openDatabase } from "../../../storage/sqlite/connection.ts";
import type { Connection } from "../../../storage/sqlite/connection.ts";
import { toMatch } from "./trigrams.ts";

/**
 * The text index: which runs contain which three letters in a row, letters in either case. It only finds runs that may
 * contain a text; the query reads these. It has a file of its own, so that filling it never blocks the writer. The file is created
 * again where it is missing or belongs to another database.
 */
const textIndexFile = "millrace.search.db";

export const textIndexPath = (databasePath: string): string =>
  join(dirname(databasePath), textIndexFile);

/** Layout of the file; another one is thrown away. */
const textIndexFormat = 1;

/** Creates the index where it is missing or belongs to another database. It must not be open elsewhere. */
export function prepareTextIndex(databasePath: string): void {
  const path = textIndexPath(databasePath);
  const db = openDatabase(databasePath);
  const [claim = []] = parseRows(db.prepare("SELECT id, row FROM text_claim").raw().all());
  db.close();
  const owner = String(claim[0]);
  if (!isOwned(path, owner, Number(claim[1]))) {
    removeTextIndex(databasePath);
    // Its owner's alone, as the database is; SQLite gives the files beside it the same rights.
    closeSync(openSync(path, "a", 0o600));
    const index = openDatabase(path);
    index.exec(`PRAGMA journal_mode = WAL; PRAGMA secure_delete = ON;
      CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), owner TEXT NOT NULL, indexed INTEGER NOT NULL, is_purged INTEGER NOT NULL);
      INSERT INTO state VALUES (1, '${owner.replaceAll("'", "''")}', 0, 1);
      CREATE VIRTUAL TABLE docs USING fts5(text, content='', contentless_delete=1, detail=none, tokenize='trigram');
      PRAGMA user_version = ${textIndexFormat};`);
    index.close();
  }
}

/** It must not be open elsewhere. */
export function removeTextIndex(databasePath: string): void {
  for (const ending of ["", "-wal", "-shm"]) {
    rmSync(textIndexPath(databasePath) + ending, { force: true });
  }
}

/** A database that was put back as it was before has claimed fewer rows than the index holds. */
function isOwned(path: string, owner: string, claimed: number): boolean {
  if (!existsSync(path)) {
    return false;
  }
  const index = openDatabase(path);
  try {
    const [[format] = []] = parseRows(index.prepare("PRAGMA user_version").raw().all());
    if (Number(format) !== textIndexFormat) {
      return false;
    }
    const [state = []] = parseRows(index.prepare("SELECT owner, indexed FROM state").raw().all());
    return state[0] === owner && Number(state[1]) <= claimed;
  } catch (cause) {
    if (isDiskFull(cause, dirname(path))) {
      throw cause;
    }
    return false; // It is damaged: made anew, it lacks nothing.
  } finally {
    index.close();
  }
}

/** For a connection that can't write: lets its queries ask the index. Without one they read the runs themselves. */
export function attachTextIndex(db: Connection, databasePath: string): void {
  const path = textIndexPath(databasePath);
  if (!existsSync(path)) {
    return; // There was no room to make it.
  }
  try {
    db.prepare("ATTACH ? AS search").run([path]);
    db.prepare("SELECT one FROM search.state").all();
  } catch (cause) {
    if (!isDiskFull(cause, dirname(path))) {
      throw cause;
    }
    if (hasTextIndex(db)) {
      db.exec("DETACH search");
    }
  }
}

/** Whether {@link attachTextIndex} was called for the connection. */
export const hasTextIndex = (db: Connection): boolean =>
  parseRows(db.prepare("PRAGMA database_list").raw().all()).some(([, name]) => name === "search");

/**
 * A statement for the rows of `runs` that may contain a text, including those that are not indexed yet; `undefined` where the index
 * can't narrow the search. The statement reads the database before the index, so the index is never older than the
 * database's record of it.
 */
export function rowsThatMayHold(text: string): Sql | undefined {
  const match = toMatch(text);
  return match === undefined
    ? undefined
    : {
        sql: `SELECT rowid FROM search.docs WHERE docs MATCH ?
          UNION ALL SELECT run FROM text_changes
          UNION ALL SELECT rowid FROM runs WHERE rowid > (SELECT indexed FROM search.state)`,
        values: [match],
      };
}

/** As {@link rowsThatMayHold}, of a text in a name, or as JSON has it in a payload. */
export function rowsThatMayHoldEither(text: string): Sql | undefined {
  const { plain, escaped } = toNeedles(text);
  const inName = rowsThatMayHold(plain);
  const inPayload = rowsThatMayHold(escaped);
  if (inName === undefined || inPayload === undefined || plain === escaped) {
    return plain === escaped ? inName : undefined;
  }
  return {
    sql: `${inName.sql} UNION ALL SELECT rowid FROM search.docs WHERE docs MATCH ?`,
    values: [...inName.values, ...inPayload.values],
  };
}

/** The same as a condition on a row of `runs`. */
export function eitherMayHold(run: string, text: string): Sql | undefined {
  const rows = rowsThatMayHoldEither(text);
  return rows && { sql: `+${run}.rowid IN (${rows.sql})`, values: rows.values };
}

/** A condition that holds for each row of `runs` which may hold all of these texts; `undefined` where none of them narrows the search. */
export function mayHold(run: string, texts: readonly string[]): Sql | undefined {
  const parts = texts.map(rowsThatMayHold).filter((rows) => rows !== undefined);
  return parts.length === 0
    ? undefined
    : {
        // With the sign, so that it leads to no rows by itself: a list stays in its order.
        sql: parts.map(({ sql }) => `+${run}.rowid IN (${sql})`).join(" AND "),
        values: parts.flatMap(({ values }) => values),
      };
}
