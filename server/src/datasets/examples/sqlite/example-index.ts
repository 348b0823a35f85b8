import type { Moment } from "../../dataset-version.ts";
import type { Dataset, ExampleTextIndex, IndexPosition } from "../../dataset.ts";
import { keysOfId } from "./example-places.ts";
import { parseRows } from "../../../storage/sqlite/rows.ts";
import type { Connection } from "../../../storage/sqlite/connection.ts";

/** The full-text index of `search`: the strings and numbers in the inputs of indexed datasets. */
export class ExampleIndex implements ExampleTextIndex {
  readonly #statements;

  constructor(db: Connection) {
    const words =
      "(SELECT group_concat(j.atom, ' ') FROM json_tree(e.inputs) j WHERE j.type IN ('text', 'integer', 'real'))";
    this.#statements = {
      add: db.prepare(
        `INSERT INTO example_texts (rowid, text) SELECT e.key, ${words} FROM examples e
         WHERE e.key IN (SELECT value FROM json_each(?))`,
      ),
      remove: db.prepare(
        "DELETE FROM example_texts WHERE rowid IN (SELECT value FROM json_each(?))",
      ),
      removeExample: db.prepare(
        `DELETE FROM example_texts WHERE rowid IN (SELECT key FROM examples
         WHERE key IN (${keysOfId("?1")}) AND id = ?1 AND tenant_id = ?2)`,
      ),
      clear: db.prepare(
        "DELETE FROM example_texts WHERE rowid IN (SELECT key FROM examples WHERE dataset_id = ?)",
      ),
      keys: db
        .prepare(
          `SELECT e.key FROM examples e WHERE +e.dataset_id = ?1 AND e.key > ?2 AND e.key <= ?3
           AND (CASE WHEN ?4 IS NULL THEN e.to_us IS NULL ELSE e.from_us <= ?4 AND (e.to_us IS NULL OR e.to_us > ?4) END)
           ORDER BY e.key LIMIT ?5`,
        )
        .raw(),
      lastKey: db.prepare("SELECT coalesce(max(key), 0) FROM examples").raw(),
    };
  }

  begin(datasetId: string): number {
    this.#statements.clear.run([datasetId]);
    return Number(parseRows(this.#statements.lastKey.all())[0]?.[0]);
  }

  extend(
    datasetId: string,
    { after, lastKey, moment, limit }: IndexPosition & { moment: Moment; limit: number },
  ): number | undefined {
    const rows = this.#statements.keys.all([datasetId, after, lastKey, moment, limit]);
    const keys = parseRows(rows).map(([key]) => Number(key));
    this.#statements.add.run([JSON.stringify(keys)]);
    return keys.length < limit ? undefined : keys.at(-1);
  }

  /** Updates the index after a write, if it follows the newest version. */
  change(
    { index }: Dataset,
    { added, removed }: { added: readonly number[]; removed: readonly number[] },
  ): void {
    if (index === null || index.micros !== null) {
      return;
    }
    this.remove(removed);
    this.#statements.add.run([JSON.stringify(added)]);
  }

  /** Removes all rows of a dataset. */
  clear(datasetId: string): void {
    this.#statements.clear.run([datasetId]);
  }

  /** Removes all rows of an example, of every version. */
  removeExample(tenantId: string, id: string): void {
    this.#statements.removeExample.run([id, tenantId]);
  }

  remove(keys: readonly number[]): void {
    this.#statements.remove.run([JSON.stringify(keys)]);
  }
}
