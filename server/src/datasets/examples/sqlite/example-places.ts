import { parseRows } from "../../../storage/sqlite/rows.ts";
import type { Connection } from "../../../storage/sqlite/connection.ts";
import { placeOf } from "./example-place-tables.ts";

/** Number of new entries (about 2 MB) at which they are merged into the large table. */
const mergeThreshold = 131_072;

const inBoth = (select: (table: string) => string): string =>
  `${select("example_places")} UNION ALL ${select("example_places_new")}`;

/** SQL that selects the keys of rows whose id may be the parameter; the caller must compare the id as well. */
export const keysOfId = (id: string): string =>
  inBoth((table) => `SELECT key FROM ${table} WHERE place = ${placeOf(id)}`);

/**
 * The same for a parameter that is a JSON list of ids. The SQL contains the parameter twice, so an unnumbered one
 * must be bound twice.
 */
export const keysOfIds = (ids: string): string =>
  inBoth(
    (table) =>
      `SELECT p.key FROM json_each(${ids}) i CROSS JOIN ${table} p ON p.place = ${placeOf("i.value")}`,
  );

/** Maintains the index from ids to rows. */
export class ExampleIdIndex {
  readonly #statements;
  readonly #newLimit: number;
  /** Counted on first use. Rows of a rolled-back write count too, so a merge may come early. */
  #newCount: number | undefined;

  constructor(db: Connection, limit: number = mergeThreshold) {
    this.#newLimit = limit;
    this.#statements = {
      count: db.prepare("SELECT count(*) FROM example_places_new").raw(),
      add: db.prepare(
        `INSERT INTO example_places_new SELECT ${placeOf("id")} AS place, key FROM examples
         WHERE key > ? AND key <= ? ORDER BY place`,
      ),
      merge: db.prepare("INSERT INTO example_places SELECT place, key FROM example_places_new"),
      clear: db.prepare("DELETE FROM example_places_new"),
    };
  }

  /** Adds the rows with keys above `after`, up to `last`. */
  add(after: number, last: number): void {
    const { count, add, merge, clear } = this.#statements;
    this.#newCount ??= Number(parseRows(count.all())[0]?.[0] ?? 0);
    add.run([after, last]);
    this.#newCount += last - after;
    if (this.#newCount >= this.#newLimit) {
      merge.run();
      clear.run();
      this.#newCount = 0;
    }
  }
}
