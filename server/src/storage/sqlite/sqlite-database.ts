import { bindValues, Query } from "../query.ts";
import type { BuiltQuery, CompiledQuery, Database } from "../query.ts";
import { compileFor } from "../dialect.ts";
import type { Connection, Statement } from "./connection.ts";

interface PreparedQuery {
  readonly statement: Statement;
  readonly parameters: readonly unknown[];
}

/** Statements of queries that are built for each call; the least recently used ones are dropped. */
const maxStatements = 100;

/**
 * Runs queries on a connection of this thread. Each statement runs while its method is called, and the promise is
 * already resolved: between the statements of one repository method, only microtasks run.
 */
export class SqliteDatabase implements Database {
  readonly #db: Pick<Connection, "prepare">;
  readonly #prepared = new WeakMap<object, PreparedQuery>();
  readonly #statements = new Map<string, Statement>();

  constructor(db: Pick<Connection, "prepare">) {
    this.#db = db;
  }

  // Async functions, so that a statement that fails rejects instead of throwing.

  async all<Row>(query: BuiltQuery<Row> | Query<Row, never>, values: object = {}): Promise<Row[]> {
    const { statement, parameters } = this.#prepare(query);
    return statement.all(bindValues(parameters, values)) as Row[];
  }

  async first<Row>(
    query: BuiltQuery<Row> | Query<Row, never>,
    values: object = {},
  ): Promise<Row | undefined> {
    const { statement, parameters } = this.#prepare(query);
    return statement.all(bindValues(parameters, values))[0] as Row | undefined;
  }

  async run(
    query: BuiltQuery<unknown> | Query<unknown, never>,
    values: object = {},
  ): Promise<number> {
    const { statement, parameters } = this.#prepare(query);
    return statement.run(bindValues(parameters, values)).changes;
  }

  #prepare(query: BuiltQuery<unknown> | Query<unknown, never>): PreparedQuery {
    if (!(query instanceof Query)) {
      const { sql, parameters } = compileFor("sqlite", query);
      return { statement: this.#prepareText(sql), parameters };
    }
    const known = this.#prepared.get(query);
    if (known !== undefined) {
      return known;
    }
    const { sql, parameters }: CompiledQuery = query.compileFor("sqlite");
    const prepared = { statement: this.#db.prepare(sql), parameters };
    this.#prepared.set(query, prepared);
    return prepared;
  }

  #prepareText(sql: string): Statement {
    const statement = this.#statements.get(sql) ?? this.#db.prepare(sql);
    // A map keeps the order of insertion: the first statement is the least recently used one.
    this.#statements.delete(sql);
    this.#statements.set(sql, statement);
    if (this.#statements.size > maxStatements) {
      const [oldest] = this.#statements.keys();
      this.#statements.delete(String(oldest));
    }
    return statement;
  }
}

/** Prepares a query for code that is synchronous, such as ingest. */
export function prepareQuery<Row, Values extends object>(
  db: Pick<Connection, "prepare">,
  query: Query<Row, Values>,
): { readonly all: (values: Values) => Row[]; readonly run: (values: Values) => number } {
  const { sql, parameters } = query.compileFor("sqlite");
  const statement = db.prepare(sql);
  return {
    all: (values) => statement.all(bindValues(parameters, values)) as Row[],
    run: (values) => statement.run(bindValues(parameters, values)).changes,
  };
}
