import { parseRows } from "../../../storage/sqlite/rows.ts";
import type { Connection } from "../../../storage/sqlite/connection.ts";
import { toPlaceSql } from "./example-place-tables.ts";

/**
 * When the table `example_places_new` has this many entries, about 2 MB, they are merged into the large table
 * `example_places`.
 */
const defaultMergeThreshold = 131_072;

const selectFromBothTables = (select: (table: string) => string): string =>
  `${select("example_places")} UNION ALL ${select("example_places_new")}`;

/**
 * SQL that selects the keys of the rows whose id has the same `place` as the id in a parameter. The caller must also
 * compare the whole id.
 */
export const selectKeysOfId = (idParameter: string): string =>
  selectFromBothTables(
    (table) => `SELECT key FROM ${table} WHERE place = ${toPlaceSql(idParameter)}`,
  );

/**
 * Like {@link selectKeysOfId}, for several ids. The parameter is a JSON list of ids. The SQL contains the parameter
 * twice, so an unnumbered parameter must be bound twice.
 */
export const selectKeysOfIds = (idsParameter: string): string =>
  selectFromBothTables(
    (table) =>
      `SELECT p.key FROM json_each(${idsParameter}) i CROSS JOIN ${table} p ON p.place = ${toPlaceSql("i.value")}`,
  );

/** Adds entries to the index that maps example ids to rows; see `examplePlaceTables`. */
export class ExampleIdIndex {
  readonly #statements;
  readonly #mergeThreshold: number;
  /**
   * Number of entries in the table `example_places_new`; `undefined` until the first use. Includes entries of writes
   * that were rolled back, so a merge may come early.
   */
  #newEntryCount: number | undefined;

  constructor(db: Connection, mergeThreshold: number = defaultMergeThreshold) {
    this.#mergeThreshold = mergeThreshold;
    this.#statements = {
      count: db.prepare("SELECT count(*) FROM example_places_new").raw(),
      add: db.prepare(
        `INSERT INTO example_places_new SELECT ${toPlaceSql("id")} AS place, key FROM examples
         WHERE key > ? AND key <= ? ORDER BY place`,
      ),
      merge: db.prepare("INSERT INTO example_places SELECT place, key FROM example_places_new"),
      clear: db.prepare("DELETE FROM example_places_new"),
    };
  }

  /** Adds the rows with keys above `afterKey`, up to `lastKey`. */
  add(afterKey: number, lastKey: number): void {
    const { count, add, merge, clear } = this.#statements;
    this.#newEntryCount ??= Number(parseRows(count.all())[0]?.[0] ?? 0);
    add.run([afterKey, lastKey]);
    this.#newEntryCount += lastKey - afterKey;
    if (this.#newEntryCount >= this.#mergeThreshold) {
      merge.run();
      clear.run();
      this.#newEntryCount = 0;
    }
  }
}
