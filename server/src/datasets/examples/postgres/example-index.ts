import type { PostgresDatabase } from "../../../storage/postgres/postgres-database.ts";
import type { Dataset, ExampleTextIndex, IndexPosition } from "../../dataset.ts";
import type { VersionTime } from "../../dataset-version.ts";

/** The strings and numbers in the inputs `e.inputs`, at any depth, as one text. */
const indexedText = `(SELECT string_agg(v #>> '{}', ' ')
  FROM jsonb_path_query(readable_json(e.inputs), 'strict $.**') v
  WHERE jsonb_typeof(v) IN ('string', 'number'))`;

/**
 * The full-text index of the example search: the strings and numbers in the inputs of indexed datasets. Like the index
 * of SQLite, it does not reduce words to their stems. Words that differ only by accents are different words.
 */
export class PostgresExampleTextIndex implements ExampleTextIndex {
  readonly #db: PostgresDatabase;

  constructor(db: PostgresDatabase) {
    this.#db = db;
  }

  async begin(datasetId: string): Promise<number> {
    await this.clear(datasetId);
    const { rows } = await this.#db.query<{ last: number }>(
      "SELECT coalesce(max(key), 0) AS last FROM examples WHERE dataset_id = $1",
      [datasetId],
    );
    return rows[0]?.last ?? 0;
  }

  async extend(
    datasetId: string,
    {
      afterKey,
      lastKey,
      versionTime,
      limit,
    }: IndexPosition & { readonly versionTime: VersionTime; readonly limit: number },
  ): Promise<number | undefined> {
    const { rows } = await this.#db.query<{ key: number }>(
      `SELECT e.key FROM examples e WHERE e.dataset_id = $1 AND e.key > $2 AND e.key <= $3
       AND (CASE WHEN $4::bigint IS NULL THEN e.to_us IS NULL
         ELSE e.from_us <= $4 AND (e.to_us IS NULL OR e.to_us > $4) END)
       ORDER BY e.key LIMIT $5`,
      [datasetId, afterKey, lastKey, versionTime, limit],
    );
    const keys = rows.map(({ key }) => key);
    await this.#add(keys);
    return keys.length < limit ? undefined : keys.at(-1);
  }

  /** Updates the index after a write to the examples of a dataset, if the index follows the newest version. */
  async update(
    { index }: Dataset,
    { added, removed }: { added: readonly number[]; removed: readonly number[] },
  ): Promise<void> {
    if (index !== null && index.micros === null) {
      await this.remove(removed);
      await this.#add(added);
    }
  }

  /** Removes all rows of a dataset from the index. */
  async clear(datasetId: string): Promise<void> {
    await this.#db.query("DELETE FROM example_texts WHERE dataset_id = $1", [datasetId]);
  }

  async remove(keys: readonly number[]): Promise<void> {
    await this.#db.query("DELETE FROM example_texts WHERE key = ANY($1::bigint[])", [keys]);
  }

  async #add(keys: readonly number[]): Promise<void> {
    await this.#db.query(
      `INSERT INTO example_texts (key, tenant_id, dataset_id, words)
       SELECT e.key, e.tenant_id, e.dataset_id, to_tsvector('simple', left(coalesce(${indexedText}, ''), ${maxIndexedChars}))
       FROM examples e WHERE e.key = ANY($1::bigint[])
       ON CONFLICT (key) DO UPDATE SET words = excluded.words`,
      [keys],
    );
  }
}

/**
 * Maximum number of characters of an example's inputs that are indexed: the words of a `tsvector` may have at most 1
 * MB.
 */
const maxIndexedChars = 200_000;
