import type { VersionTime } from "../../dataset-version.ts";
import type { Dataset, ExampleTextIndex, IndexPosition } from "../../dataset.ts";
import { selectKeysOfId } from "./example-places.ts";
import { parseRows } from "../../../storage/sqlite/rows.ts";
import type { Connection } from "../../../storage/sqlite/connection.ts";

/** The full-text index of the example search: the strings and numbers in the inputs of indexed datasets. */
export class SqliteExampleTextIndex implements ExampleTextIndex {
  readonly #statements;

  constructor(db: Connection) {
    const indexedText =
      "(SELECT group_concat(j.atom, ' ') FROM json_tree(e.inputs) j WHERE j.type IN ('text', 'integer', 'real'))";
    this.#statements = {
      add: db.prepare(
        `INSERT INTO example_texts (rowid, text) SELECT e.key, ${indexedText} FROM examples e
         WHERE e.key IN (SELECT value FROM json_each(?))`,
      ),
      remove: db.prepare(
        "DELETE FROM example_texts WHERE rowid IN (SELECT value FROM json_each(?))",
      ),
      removeExample: db.prepare(
        `DELETE FROM example_texts WHERE rowid IN (SELECT key FROM examples
         WHERE key IN (${selectKeysOfId("?1")}) AND id = ?1 AND tenant_id = ?2)`,
      ),
      clear: db.prepare(
        "DELETE FROM example_texts WHERE rowid IN (SELECT key FROM examples WHERE dataset_id = ?)",
      ),
      listKeys: db
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
    {
      afterKey,
      lastKey,
      versionTime,
      limit,
    }: IndexPosition & { versionTime: VersionTime; limit: number },
  ): number | undefined {
    const rows = this.#statements.listKeys.all([datasetId, afterKey, lastKey, versionTime, limit]);
    const keys = parseRows(rows).map(([key]) => Number(key));
    this.#statements.add.run([JSON.stringify(keys)]);
    return keys.length < limit ? undefined : keys.at(-1);
  }

  /** Updates the index after a write to the examples of a dataset, if the index follows the newest version. */
  update(
    { index }: Dataset,
    { added, removed }: { added: readonly number[]; removed: readonly number[] },
  ): void {
    if (index === null || index.micros !== null) {
      return;
    }
    this.remove(removed);
    this.#statements.add.run([JSON.stringify(added)]);
  }

  /** Removes all rows of a dataset from the index. */
  clear(datasetId: string): void {
    this.#statements.clear.run([datasetId]);
  }

  /** Removes the rows of all versions of an example from the index. */
  removeExample(tenantId: string, id: string): void {
    this.#statements.removeExample.run([id, tenantId]);
  }

  remove(keys: readonly number[]): void {
    this.#statements.remove.run([JSON.stringify(keys)]);
  }
}
