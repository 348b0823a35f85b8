export interface PostgresStatement {
  readonly text: string;
  readonly values: readonly unknown[];
  /** The server prepares a statement with a name once per connection. */
  readonly name?: string;
}

/** The result of a query. */
export interface PostgresRows<Row = Readonly<Record<string, unknown>>> {
  readonly rows: readonly Row[];
  /** The number of rows that were read or changed. */
  readonly count: number;
}

/**
 * One connection to PostgreSQL. The server uses the driver `pg`; tests also use PGlite, which is PostgreSQL compiled
 * to WebAssembly. Integers and numerics are returned as numbers, `bytea` as bytes.
 */
export interface PostgresClient {
  run(statement: PostgresStatement): Promise<PostgresRows>;
  /** Runs statements without parameters in one round trip. */
  exec(sql: string): Promise<void>;
}
