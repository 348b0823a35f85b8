import { PGlite } from "@electric-sql/pglite";
import { toPlaceSql } from "../../src/datasets/examples/sqlite/example-place-tables.ts";
import { compileFor } from "../../src/storage/dialect.ts";
import { bindValues, Query } from "../../src/storage/query.ts";
import type { BuiltQuery, Database } from "../../src/storage/query.ts";
import { rollBack } from "../../src/storage/sqlite/connection.ts";
import { SqliteDatabase } from "../../src/storage/sqlite/sqlite-database.ts";
import { openWriter } from "../../src/store/schema.ts";

/** An engine with the tables of the server, on which the repositories of small resources run. */
export interface RepositoryEngine {
  readonly db: Database;
  /** Runs a call in a transaction, as the writer thread does: if it fails, it has changed nothing. */
  transact<Result>(call: () => Promise<Result>): Promise<Result>;
  /** Executes SQL that every engine knows. */
  exec(sql: string): Promise<void>;
  /** Makes examples that were inserted with `exec` findable by their ids. */
  indexExamples(): Promise<void>;
  close(): Promise<void>;
}

export async function openSqlite(): Promise<RepositoryEngine> {
  const connection = openWriter(":memory:");
  return {
    db: new SqliteDatabase(connection),
    transact: async (call) => {
      connection.exec("BEGIN IMMEDIATE");
      try {
        const result = await call();
        connection.exec("COMMIT");
        return result;
      } catch (cause) {
        rollBack(connection);
        throw cause;
      }
    },
    exec: async (sql) => connection.exec(sql),
    indexExamples: async () =>
      connection.exec(`DELETE FROM example_places;
        INSERT INTO example_places SELECT ${toPlaceSql("id")}, key FROM examples ORDER BY 1, 2`),
    close: async () => connection.close(),
  };
}

/** The engines on which the tests of a file run, by name. */
export type Engines = readonly (readonly [string, () => Promise<RepositoryEngine>])[];

/** Both engines, for `describe.each`. `findUnused` names the queries of tables that did not run on PostgreSQL. */
export function createEngines(): {
  readonly engines: Engines;
  readonly findUnused: (tables: Readonly<Record<string, object>>) => readonly string[];
} {
  const queriesRun = new Set<unknown>();
  return {
    engines: [
      ["SQLite", openSqlite],
      ["PostgreSQL", () => openPostgres((query) => queriesRun.add(query))],
    ],
    findUnused: (tables) =>
      Object.entries(tables).flatMap(([table, queries]) =>
        Object.entries<unknown>({ ...queries }).flatMap(([name, query]) =>
          queriesRun.has(query) ? [] : [`${table}.${name}`],
        ),
      ),
  };
}

/** Runs queries on PostgreSQL, and reports each of them. */
class PostgresDatabase implements Database {
  readonly #db: PGlite;
  readonly #onQuery: (query: unknown) => void;

  constructor(db: PGlite, onQuery: (query: unknown) => void) {
    this.#db = db;
    this.#onQuery = onQuery;
  }

  async all<Row>(query: BuiltQuery<Row> | Query<Row, never>, values: object = {}): Promise<Row[]> {
    return (await this.#query<Row>(query, values)).rows;
  }

  async first<Row>(
    query: BuiltQuery<Row> | Query<Row, never>,
    values: object = {},
  ): Promise<Row | undefined> {
    return (await this.#query<Row>(query, values)).rows[0];
  }

  async run(
    query: BuiltQuery<unknown> | Query<unknown, never>,
    values: object = {},
  ): Promise<number> {
    return (await this.#query(query, values)).affectedRows ?? 0;
  }

  #query<Row>(query: BuiltQuery<unknown> | Query<unknown, never>, values: object) {
    this.#onQuery(query);
    const { sql, parameters } =
      query instanceof Query ? query.compileFor("postgres") : compileFor("postgres", query);
    return this.#db.query<Row>(sql, bindValues(parameters, values));
  }
}

export async function openPostgres(
  onQuery: (query: unknown) => void,
  tables: readonly string[] = translated,
): Promise<RepositoryEngine> {
  const engine = await PGlite.create();
  await engine.exec(translateTables(tables));
  const exec = async (sql: string): Promise<void> => {
    await engine.exec(sql);
  };
  return {
    db: new PostgresDatabase(engine, onQuery),
    transact: async (call) => {
      await exec("BEGIN");
      try {
        const result = await call();
        await exec("COMMIT");
        return result;
      } catch (cause) {
        await exec("ROLLBACK");
        throw cause;
      }
    },
    exec,
    indexExamples: async () => undefined,
    close: () => engine.close(),
  };
}

/** Tables whose repositories run on every engine. */
const translated = [
  "projects",
  "prompts",
  "prompt_commits",
  "prompt_tags",
  "prompt_likes",
  "tenants",
  "api_keys",
  "settings",
  "annotation_queues",
  "annotation_queue_runs",
  "annotation_queue_reviews",
  "datasets",
  "dataset_versions",
  "dataset_tags",
  "examples",
  "example_blobs",
  "runs",
  "comparatives",
  "comparative_experiments",
  "feedback",
  "feedback_tokens",
  "shares",
  "trace_shares",
  "thread_shares",
];

/** The trigger of SQLite's table, as PostgreSQL writes it. */
const entryTrigger = `
  CREATE FUNCTION delete_reviews() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    DELETE FROM annotation_queue_reviews WHERE place = OLD.place;
    RETURN NULL;
  END $$;
  CREATE TRIGGER annotation_queue_reviews_gone AFTER DELETE ON annotation_queue_runs
    FOR EACH ROW EXECUTE FUNCTION delete_reviews()`;
/** The tables and indexes of SQLite, as PostgreSQL writes them. Texts are compared by bytes in both. */
function translateTables(tables: readonly string[]): string {
  const db = openWriter(":memory:");
  // No query of these repositories needs the indexes of runs, some of which PostgreSQL writes differently.
  const rows = db
    .prepare(
      `SELECT sql FROM sqlite_master WHERE type IN ('table', 'index') AND sql IS NOT NULL AND name NOT LIKE 'runs_by_%'
       AND tbl_name IN (SELECT value FROM json_each(?)) ORDER BY type DESC`,
    )
    .raw()
    .all([JSON.stringify(tables)]);
  db.close();
  return rows
    .flat()
    .map((sql) =>
      String(sql)
        .replace(/\) WITHOUT ROWID$/, ")")
        .replace("INTEGER PRIMARY KEY AUTOINCREMENT", "BIGSERIAL PRIMARY KEY")
        .replaceAll(/\bTEXT\b/g, 'TEXT COLLATE "C"')
        .replaceAll(/\bINTEGER\b/g, "BIGINT")
        .replaceAll(/\bREAL\b/g, "DOUBLE PRECISION")
        .replaceAll(/\bBLOB\b/g, "BYTEA"),
    )
    .concat(tables.includes("annotation_queue_runs") ? entryTrigger : [])
    .join(";\n");
}
