import { closeSync, existsSync, openSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Sql } from "../../../filter/sql.ts";
import { toSearchTexts } from "../../search-texts.ts";
import { parseRows } from "../../../storage/sqlite/rows.ts";
import { isDiskFull } from "../../../storage/sqlite/disk-reserve.ts";
import { openDatabase } from "../../../storage/sqlite/connection.ts";
import type { Connection } from "../../../storage/sqlite/connection.ts";
import { toMatchExpression } from "./trigrams.ts";

/**
 * Name of the file of the text index, which stores the trigrams (three consecutive characters) of each run's texts,
 * ignoring case. The index only finds runs that may contain a text; the query then reads these runs. It is a database
 * of its own, so that filling it never blocks the writer thread. It is created again if it is missing or belongs to
 * another database.
 */
const textIndexFileName = "millrace.search.db";

export const toTextIndexPath = (databasePath: string): string =>
  join(dirname(databasePath), textIndexFileName);

/** Version of the file's tables. A file of another version is replaced. */
const textIndexFormat = 1;

/** Creates the index if it is missing or belongs to another database. It must not be open in any connection. */
export function prepareTextIndex(databasePath: string): void {
  const path = toTextIndexPath(databasePath);
  const db = openDatabase(databasePath);
  const [claim = []] = parseRows(db.prepare("SELECT id, row FROM text_claim").raw().all());
  db.close();
  const owner = String(claim[0]);
  if (!isOwned(path, owner, Number(claim[1]))) {
    removeTextIndex(databasePath);
    // Only the owner may read the file, as with the database. SQLite creates its -wal and -shm files with the same
    // permissions.
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

/** Deletes the index, which must not be open in any connection. */
export function removeTextIndex(databasePath: string): void {
  for (const ending of ["", "-wal", "-shm"]) {
    rmSync(toTextIndexPath(databasePath) + ending, { force: true });
  }
}

/**
 * Whether the index belongs to the database and contains no runs that are newer than the database. After a database was
 * restored from a backup, the index may contain rows above the last row that the database has claimed for it.
 */
function isOwned(path: string, owner: string, lastClaimedRow: number): boolean {
  if (!existsSync(path)) {
    return false;
  }
  const index = openDatabase(path);
  try {
    const [[format] = []] = parseRows(index.prepare("PRAGMA user_version").raw().all());
    if (Number(format) !== textIndexFormat) {
      return false;
    }
    const [stateRow = []] = parseRows(
      index.prepare("SELECT owner, indexed FROM state").raw().all(),
    );
    return stateRow[0] === owner && Number(stateRow[1]) <= lastClaimedRow;
  } catch (cause) {
    if (isDiskFull(cause, dirname(path))) {
      throw cause;
    }
    return false; // The index is damaged, so it is created again.
  } finally {
    index.close();
  }
}

/** Attaches the index to a read-only connection. Without the index, queries read the runs themselves. */
export function attachTextIndex(db: Connection, databasePath: string): void {
  const path = toTextIndexPath(databasePath);
  if (!existsSync(path)) {
    return; // The index could not be created, because the disk was full.
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

/** Whether the text index is attached to the connection. */
export const hasTextIndex = (db: Connection): boolean =>
  parseRows(db.prepare("PRAGMA database_list").raw().all()).some(([, name]) => name === "search");

/** A range of row numbers of `runs`, including both ends. */
export interface RowRange {
  readonly from: number;
  readonly to: number;
}

/**
 * For a range with fewer rows than this, only a few trigrams are looked up: finding the first row of a trigram takes
 * a quarter of a millisecond, which is as long as reading hundreds of rows.
 */
const maxNarrowRangeRows = 2_000;
const maxNarrowRangeTrigrams = 2;

/**
 * FTS5 (SQLite's full-text index) ignores a bound that is not an integer, and some SQLite libraries bind each number as
 * a floating-point number.
 */
const rangeCondition = "rowid BETWEEN CAST(? AS INTEGER) AND CAST(? AS INTEGER)";

/**
 * Returns a statement that selects the rows of `runs` that may contain a text, including runs that are not indexed yet;
 * `undefined` if the index can't narrow down the search. SQLite begins to read the database before the index, so the
 * index is never older than what the database has recorded about it.
 *
 * @param range - rows outside of it may be left out. For a common text, the index finds many rows, and reading it takes
 * longer the more rows it finds.
 */
export function createRowQuery(text: string, range?: RowRange): Sql | undefined {
  const isNarrow = range !== undefined && range.to - range.from < maxNarrowRangeRows;
  const match = toMatchExpression(text, isNarrow ? maxNarrowRangeTrigrams : undefined);
  if (match === undefined) {
    return undefined;
  }
  const [condition, bounds] =
    range === undefined ? ["", []] : [` AND ${rangeCondition}`, [range.from, range.to]];
  return {
    sql: `SELECT rowid FROM search.docs WHERE docs MATCH ?${condition}
      UNION ALL SELECT run FROM text_changes
      UNION ALL SELECT rowid FROM runs WHERE rowid > (SELECT indexed FROM search.state)${condition}`,
    values: [match, ...bounds, ...bounds],
  };
}

/** Like {@link createRowQuery}, for a text that occurs in a name, or in escaped form in the JSON of a payload. */
export function createRowQueryForText(text: string, range?: RowRange): Sql | undefined {
  const { plain, escaped } = toSearchTexts(text);
  const nameRowQuery = createRowQuery(plain, range);
  const payloadRowQuery = createRowQuery(escaped, range);
  if (nameRowQuery === undefined || payloadRowQuery === undefined || plain === escaped) {
    return plain === escaped ? nameRowQuery : undefined;
  }
  return {
    sql: `${nameRowQuery.sql} UNION ALL ${payloadRowQuery.sql}`,
    values: [...nameRowQuery.values, ...payloadRowQuery.values],
  };
}

/** Like {@link createRowQueryForText}, as a condition on a row of `runs`. */
export function createTextCondition(
  runAlias: string,
  text: string,
  range?: RowRange,
): Sql | undefined {
  const rowQuery = createRowQueryForText(text, range);
  return rowQuery && { sql: `+${runAlias}.rowid IN (${rowQuery.sql})`, values: rowQuery.values };
}

/**
 * Returns a condition that holds for every row of `runs`, within the range, that may contain all of these texts;
 * `undefined` if the index can't narrow down the search for any of them.
 */
export function createTextsCondition(
  runAlias: string,
  texts: readonly string[],
  range?: RowRange,
): Sql | undefined {
  const rowQueries = texts
    .map((text) => createRowQuery(text, range))
    .filter((rowQuery) => rowQuery !== undefined);
  return rowQueries.length === 0
    ? undefined
    : {
        // The unary plus prevents SQLite from finding rows by this condition, so that a list is still read in its own
        // order.
        sql: rowQueries.map(({ sql }) => `+${runAlias}.rowid IN (${sql})`).join(" AND "),
        values: rowQueries.flatMap(({ values }) => values),
      };
}
