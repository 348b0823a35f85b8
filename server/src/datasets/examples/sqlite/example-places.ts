import { parseRows } from "../../../storage/sqlite/rows.ts";
import type { Connection } from "../../../storage/sqlite/connection.ts";
import { placeOf } from "./example-place-tables.ts";

/** New places that are poured into the table of all: 2 MB of them. */
const newLimit = 131_072;

const inBoth = (select: (table: string) => string): string =>
  `${select("example_places")} UNION ALL ${select("example_places_new")}`;

/** Keys of the rows that have the id of a parameter; some may be of another id. */
export const keysOfId = (id: string): string =>
  inBoth((table) => `SELECT key FROM ${table} WHERE place = ${placeOf(id)}`);

/** The same of each id of a parameter that is a list in JSON. It is bound twice, where it is no numbered one. */
export const keysOfIds = (ids: string): string =>
  inBoth(
    (table) =>
      `SELECT p.key FROM json_each(${ids}) i CROSS JOIN ${table} p ON p.place = ${placeOf("i.value")}`,
  );

/** Updates, for the writers, which rows an id may have. */
export class ExamplePlaces {
  readonly #statements;
  readonly #newLimit: number;
  /** Counted when it is first asked; what was undone is counted too. */
  #newCount: number | undefined;

  constructor(db: Connection, limit: number = newLimit) {
    this.#newLimit = limit;
    this.#statements = {
      count: db.prepare("SELECT count(*) FROM example_places_new").raw(),
      add: db.prepare(
        `INSERT INTO example_places_new SELECT ${placeOf("id")} AS place, key FROM examples
         WHERE key > ? AND key <= ? ORDER BY place`,
      ),
      pour: db.prepare("INSERT INTO example_places SELECT place, key FROM example_places_new"),
      clear: db.prepare("DELETE FROM example_places_new"),
    };
  }

  /** Adds the rows after a key up to another one. */
  add(after: number, last: number): void {
    const { count, add, pour, clear } = this.#statements;
    this.#newCount ??= Number(parseRows(count.all())[0]?.[0] ?? 0);
    add.run([after, last]);
    this.#newCount += last - after;
    if (this.#newCount >= this.#newLimit) {
      pour.run();
      clear.run();
      this.#newCount = 0;
    }
  }
}
