import { bindValues, Query } from "../query.ts";
import type { BuiltQuery, CompiledQuery, Database } from "../query.ts";
import { compileFor } from "../dialect.ts";
import type { Connection, Statement } from "./connection.ts";

interface PreparedQuery {
  readonly statement: RowStatement;
  readonly parameters: readonly unknown[];
}

/**
 * Reads rows as lists of values and creates the objects itself, which is faster than letting the SQLite package create
 * them.
 */
class RowStatement {
  readonly #statement: Statement;
  #columns: readonly string[] | undefined;

  constructor(statement: Statement) {
    this.#statement = statement.raw();
  }

  all(values: readonly unknown[]): unknown[] {
    const rows = this.#statement.all(values) as readonly (readonly unknown[])[];
    const columns = (this.#columns ??= this.#statement.columns());
    return rows.map((row) => {
      const object: Record<string, unknown> = {};
      for (let columnIndex = 0; columnIndex < columns.length; columnIndex += 1) {
        object[columns[columnIndex] as string] = row[columnIndex];
      }
      return object;
    });
  }

  run(values: readonly unknown[]): number {
    return this.#statement.run(values).changes;
  }
}

/**
 * Maximum number of cached statements for queries that are built for each call. The least recently used statements
 * are dropped.
 */
const maxStatements = 100;

/**
 * Runs queries on a connection of this thread. A statement runs within the call of the method, and the returned
 * promise is already settled: between the statements of one repository method, only microtasks run.
 */
export class SqliteDatabase implements Database {
  readonly #db: Pick<Connection, "prepare">;
  readonly #prepared = new WeakMap<object, PreparedQuery>();
  readonly #statements = new Map<string, RowStatement>();

  constructor(db: Pick<Connection, "prepare">) {
    this.#db = db;
  }

  // These functions are async so that a failed statement rejects instead of throwing.

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
    return statement.run(bindValues(parameters, values));
  }

  #prepare(query: BuiltQuery<unknown> | Query<unknown, never>): PreparedQuery {
    if (!(query instanceof Query)) {
      const { sql, parameters } = compileFor("sqlite", query);
      return { statement: this.#prepareText(sql), parameters };
    }
    const cached = this.#prepared.get(query);
    if (cached !== undefined) {
      return cached;
    }
    const { sql, parameters }: CompiledQuery = query.compileFor("sqlite");
    const prepared = { statement: new RowStatement(this.#db.prepare(sql)), parameters };
    this.#prepared.set(query, prepared);
    return prepared;
  }

  #prepareText(sql: string): RowStatement {
    const statement = this.#statements.get(sql) ?? new RowStatement(this.#db.prepare(sql));
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

/** Prepares a query, when it first runs, for code that is synchronous, such as ingest. */
export function prepareQuery<Row, Values extends object>(
  db: Pick<Connection, "prepare">,
  query: Query<Row, Values>,
): { readonly all: (values: Values) => Row[]; readonly run: (values: Values) => number } {
  let prepared: PreparedQuery | undefined;
  const prepare = (): PreparedQuery => {
    const { sql, parameters } = query.compileFor("sqlite");
    return { statement: new RowStatement(db.prepare(sql)), parameters };
  };
  return {
    all: (values) => {
      const { statement, parameters } = (prepared ??= prepare());
      return statement.all(bindValues(parameters, values)) as Row[];
    },
    run: (values) => {
      const { statement, parameters } = (prepared ??= prepare());
      return statement.run(bindValues(parameters, values));
    },
  };
}
