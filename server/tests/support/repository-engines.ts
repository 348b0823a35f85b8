import { PGlite, types } from "@electric-sql/pglite";
import { toPlaceSql } from "../../src/datasets/examples/sqlite/example-place-tables.ts";
import { migrate } from "../../src/storage/postgres/migrations.ts";
import type {
  PostgresClient,
  PostgresRows,
  PostgresStatement,
} from "../../src/storage/postgres/postgres-client.ts";
import { PostgresConnection } from "../../src/storage/postgres/postgres-connection.ts";
import { parseStoreUrl } from "../../src/model/store-url.ts";
import { createTestDatabase, testServerUrl } from "./postgres-server.ts";
import { PostgresDatabase } from "../../src/storage/postgres/postgres-database.ts";
import type { BuiltQuery, Database, Query } from "../../src/storage/query.ts";
import { rollBack } from "../../src/storage/sqlite/connection.ts";
import { SqliteDatabase } from "../../src/storage/sqlite/sqlite-database.ts";
import { postgresFormats } from "../../src/store/postgres/formats.ts";
import { openWriter } from "../../src/store/schema.ts";

/** An engine with the tables of the server, on which the repositories of small resources run. */
export interface RepositoryEngine {
  readonly db: Database;
  /** Runs a call in a transaction, as the writer thread does: if it fails, it has changed nothing. */
  transact<Result>(call: () => Promise<Result>): Promise<Result>;
  /** Executes SQL that every engine supports. */
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
      ...openServers((query) => queriesRun.add(query)),
    ],
    findUnused: (tables) =>
      Object.entries(tables).flatMap(([table, queries]) =>
        Object.entries<unknown>({ ...queries }).flatMap(([name, query]) =>
          queriesRun.has(query) ? [] : [`${table}.${name}`],
        ),
      ),
  };
}

/** Opens a database of the PostgreSQL server of the tests, if there is one. */
export const openServers = (
  onQuery: (query: unknown) => void,
  tenantId?: string,
): readonly (readonly [string, () => Promise<RepositoryEngine>])[] =>
  testServerUrl === undefined ? [] : [["a PostgreSQL server", () => openServer(onQuery, tenantId)]];

async function openServer(
  onQuery: (query: unknown) => void,
  tenantId?: string,
): Promise<RepositoryEngine> {
  const database = await createTestDatabase();
  const engine = await openPostgres(onQuery, tenantId, async () => {
    const connection = await PostgresConnection.connect(parseStoreUrl(database.adminUrl), {
      applicationName: "millrace tests",
      statementMs: 60_000,
    });
    await migrate(connection, postgresFormats);
    return connection;
  });
  return {
    ...engine,
    close: async () => {
      await engine.close();
      await database.drop();
    },
  };
}

/** Runs queries on PostgreSQL, and reports each of them. */
class ObservedDatabase implements Database {
  readonly #db: PostgresDatabase;
  readonly #onQuery: (query: unknown) => void;

  constructor(db: PostgresDatabase, onQuery: (query: unknown) => void) {
    this.#db = db;
    this.#onQuery = onQuery;
  }

  all<Row>(query: BuiltQuery<Row> | Query<Row, never>, values: object = {}): Promise<Row[]> {
    this.#onQuery(query);
    return this.#db.all(query, values);
  }

  first<Row>(
    query: BuiltQuery<Row> | Query<Row, never>,
    values: object = {},
  ): Promise<Row | undefined> {
    this.#onQuery(query);
    return this.#db.first(query, values);
  }

  run(query: BuiltQuery<unknown> | Query<unknown, never>, values: object = {}): Promise<number> {
    this.#onQuery(query);
    return this.#db.run(query, values);
  }
}

/** Numbers that JavaScript reads as texts otherwise. */
const parsers = { [types.INT8]: Number, [types.NUMERIC]: Number };

// The files of databases that each new one gets a copy of, once for all test files of a process: initializing a database
// and creating the tables takes much longer than copying their files.
let emptyFiles: Promise<Blob> | undefined;
let migratedFiles: Promise<Blob> | undefined;

async function dumpFiles(create: () => Promise<PGlite>): Promise<Blob> {
  const db = await create();
  const files = await db.dumpDataDir("none");
  await db.close();
  return files;
}

async function createMigratedDatabase(): Promise<PGlite> {
  const db = await PGlite.create({ parsers });
  await migrate(new PgliteClient(db), postgresFormats);
  return db;
}

/** PostgreSQL compiled to WebAssembly, with the interface of a connection. */
export class PgliteClient implements PostgresClient {
  readonly #db: PGlite;

  constructor(db: PGlite) {
    this.#db = db;
  }

  /** An empty database. */
  static async create(): Promise<PgliteClient> {
    emptyFiles ??= dumpFiles(() => PGlite.create());
    return new PgliteClient(await PGlite.create({ parsers, loadDataDir: await emptyFiles }));
  }

  /** A database with the tables of the server. */
  static async createMigrated(): Promise<PgliteClient> {
    migratedFiles ??= dumpFiles(createMigratedDatabase);
    return new PgliteClient(await PGlite.create({ parsers, loadDataDir: await migratedFiles }));
  }

  async run({ text, values }: PostgresStatement): Promise<PostgresRows> {
    const { rows, affectedRows } = await this.#db.query<Readonly<Record<string, unknown>>>(text, [
      ...values,
    ]);
    return { rows, count: affectedRows ?? rows.length };
  }

  async exec(sql: string): Promise<void> {
    await this.#db.exec(sql);
  }

  close(): Promise<void> {
    return this.#db.close();
  }
}

/**
 * Opens PostgreSQL with the tables of the server, which `open` creates. The login is a superuser, to which row-level
 * security does not apply: the conditions of the queries alone keep tenants apart. Columns that only PostgreSQL has belong
 * to `tenantId`.
 */
export async function openPostgres(
  onQuery: (query: unknown) => void,
  tenantId = "",
  open: () => Promise<ClosableClient> = () => PgliteClient.createMigrated(),
): Promise<RepositoryEngine> {
  const client = await open();
  await client.exec(`${runDefaults}; SET millrace.tenant = '${tenantId}'`);
  return {
    db: new ObservedDatabase(new PostgresDatabase(client), onQuery),
    transact: async (call) => {
      await client.exec("BEGIN");
      try {
        const result = await call();
        await client.exec("COMMIT");
        return result;
      } catch (cause) {
        await client.exec("ROLLBACK");
        throw cause;
      }
    },
    exec: (sql) => client.exec(sql),
    indexExamples: async () => undefined,
    close: () => client.close(),
  };
}

export interface ClosableClient extends PostgresClient {
  close(): Promise<void>;
}

/** Lets tests insert runs without the columns that only PostgreSQL has, and that no query of other resources reads. */
const runDefaults = `
  ALTER TABLE runs ALTER COLUMN root_us SET DEFAULT 7, ALTER COLUMN measured SET DEFAULT 0,
    ALTER COLUMN facets SET DEFAULT '{}', ALTER COLUMN place SET DEFAULT 1`;
