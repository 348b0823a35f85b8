import { createRequire } from "node:module";
import process from "node:process";
import { QueryClock } from "./query-clock.ts";
import type { QueryLimit } from "./query-clock.ts";

/** Milliseconds that a statement waits for another connection's lock. */
export const lockTimeoutMs = 5_000;

export interface Statement {
  /** Makes the statement return rows as lists of values, in the order of the columns, instead of objects. */
  raw(): Statement;
  all(values?: readonly unknown[]): readonly unknown[];
  /** Reads one row after the other. The statement must not be used again until the last row was read. */
  iterate(values?: readonly unknown[]): IterableIterator<unknown>;
  /** The names of the columns of the result, in order. */
  columns(): readonly string[];
  run(values?: readonly unknown[]): StatementResult;
}

export interface StatementResult {
  readonly changes: number;
  readonly lastInsertRowid: number;
}

/** One connection to a database, with only the operations that the store needs. */
export interface Connection {
  readonly inTransaction: boolean;
  exec(sql: string): void;
  /** Returns a statement. An error in its SQL is thrown when it is first used. */
  prepare(sql: string): Statement;
  /**
   * Returns a statement in raw mode, from a cache whose keys are SQL texts. Use this method for SQL texts that depend
   * on the query: preparing a statement takes about as long as reading one page of results from an index.
   */
  prepareRaw(sql: string): Statement;
  /** Defines an SQL function with as many arguments as `implementation` has. */
  defineFunction(name: string, implementation: (...values: unknown[]) => string): void;
  /**
   * Runs `read` within a limit, and resolves with its result. The statements that `read` runs end when they exceed the
   * limit, provided that their SQL calls `within_deadline()` for the rows that they read. Only one call of this method
   * may run at a time, because a connection has one limit.
   *
   * @throws RequestError 408 if the time limit has passed, 503 if the query was canceled.
   */
  runLimited<Result>(limit: QueryLimit, read: () => Result | Promise<Result>): Promise<Result>;
  /**
   * Copies the database to a file, in the state that it has when this is called. Other connections may write meanwhile.
   * The connection must not be used until the promise settles.
   */
  copyTo(path: string): Promise<void>;
  /** Throws like {@link Connection.runLimited}, for work between statements. Does nothing if no limit is set. */
  checkLimit(): void;
  close(): void;
}

/** Options of a connection to an SQLite database. */
export interface ConnectionOptions {
  /** Milliseconds to wait for another connection's lock. */
  readonly busyMs: number;
  /** Whether the connection is read-only. It then does not create a missing file. */
  readonly isReadOnly?: boolean;
}

/** Opens a database file. Creates a missing one, unless the connection is read-only. */
export const openConnection = (path: string, options: ConnectionOptions): Connection =>
  new EngineConnection(path, options);

/** The part of the API of `node:sqlite` and `@photostructure/sqlite` that is used here. */
interface Engine {
  readonly DatabaseSync: new (path: string, options: object) => EngineDatabase;
  readonly backup: (
    database: EngineDatabase,
    path: string,
    options: { readonly rate: number },
  ) => Promise<number>;
}

interface EngineDatabase {
  readonly isTransaction: boolean;
  exec(sql: string): void;
  prepare(sql: string): EngineStatement;
  function(
    name: string,
    options: object,
    implementation: (...values: unknown[]) => number | string,
  ): void;
  close(): void;
}

interface EngineStatement {
  all(...values: readonly unknown[]): unknown[];
  iterate(...values: readonly unknown[]): IterableIterator<unknown>;
  run(...values: readonly unknown[]): { changes: number; lastInsertRowid: number };
  setReturnArrays(isOn: boolean): void;
  columns(): readonly { readonly name: string }[];
}

/**
 * The minimum version of SQLite for using Node's own engine. Earlier versions may lose pages of the write-ahead log
 * if two connections write it back at the same time ("WAL-reset bug").
 */
const minSqliteVersion = [3, 51, 3];

/** The SQLite engine that all connections of this process use, and its name. */
const { engine, engineName } = loadEngine();
export { engineName };

function loadEngine(): { readonly engine: Engine; readonly engineName: string } {
  const builtIn = isSafeVersion(process.versions["sqlite"]) ? loadBuiltIn() : undefined;
  if (builtIn !== undefined) {
    return { engine: builtIn, engineName: "node:sqlite" };
  }
  const name = "@photostructure/sqlite";
  return { engine: createRequire(import.meta.url)(name) as Engine, engineName: name };
}

/** Whether a version of SQLite is at least the minimum version. */
export function isSafeVersion(version: string | undefined): boolean {
  const parts = (version ?? "0").split(".").map(Number);
  const differingIndex = minSqliteVersion.findIndex((part, index) => (parts[index] ?? 0) !== part);
  return (
    differingIndex === -1 || (parts[differingIndex] ?? 0) > (minSqliteVersion[differingIndex] ?? 0)
  );
}

/** Loads Node's own engine, and suppresses the warning that some versions of Node print when it is first loaded. */
function loadBuiltIn(): Engine | undefined {
  const emitWarning = Reflect.get(process, "emitWarning");
  process.emitWarning = () => undefined;
  try {
    return process.getBuiltinModule("node:sqlite") as Engine | undefined;
  } finally {
    process.emitWarning = emitWarning;
  }
}

class EngineConnection implements Connection {
  readonly #db: EngineDatabase;
  readonly #clock = new QueryClock();
  /** Prepared statements by their text; the most recently used one is last. */
  readonly #statements = new Map<string, Statement>();

  constructor(path: string, { busyMs, isReadOnly = false }: ConnectionOptions) {
    this.#db = new engine.DatabaseSync(path, {
      timeout: busyMs,
      readOnly: isReadOnly,
      enableForeignKeyConstraints: false,
    });
    // Not deterministic, so that SQLite calls the function for each row instead of once per statement.
    this.#db.function("within_deadline", { deterministic: false }, () => this.#clock.checkLimit());
  }

  get inTransaction(): boolean {
    return this.#db.isTransaction;
  }

  exec(sql: string): void {
    this.#db.exec(sql);
  }

  prepare(sql: string): Statement {
    return new PreparedStatement(this.#db, sql);
  }

  prepareRaw(sql: string): Statement {
    const statement = this.#statements.get(sql) ?? this.prepare(sql).raw();
    this.#statements.delete(sql);
    this.#statements.set(sql, statement);
    const [oldest] = this.#statements.size > maxCachedStatements ? this.#statements.keys() : [];
    this.#statements.delete(oldest ?? "");
    return statement;
  }

  defineFunction(name: string, implementation: (...values: unknown[]) => string): void {
    this.#db.function(name, { deterministic: false }, implementation);
  }

  runLimited<Result>(limit: QueryLimit, read: () => Result | Promise<Result>): Promise<Result> {
    return this.#clock.runLimited(limit, read);
  }

  async copyTo(path: string): Promise<void> {
    // Within a transaction that has read something, all steps of the copy see one state of the database. Otherwise a
    // commit of another connection between two steps would make the copy begin again.
    this.#db.exec("BEGIN; SELECT 1 FROM sqlite_master LIMIT 1");
    try {
      await engine.backup(this.#db, path, { rate: pagesPerStep });
    } finally {
      this.#db.exec("ROLLBACK");
    }
  }

  checkLimit(): void {
    this.#clock.checkLimit();
  }

  close(): void {
    this.#statements.clear();
    this.#db.close();
  }
}

/** Pages that are copied at once: 16 MiB. */
const pagesPerStep = 1_024;

/** Maximum number of statements in the cache of a connection. Each takes some kilobytes. */
const maxCachedStatements = 100;

/**
 * A statement that is prepared when it is first used: the threads of a server create a few hundred statements at the
 * start, but most servers use only some dozens of them.
 */
class PreparedStatement implements Statement {
  readonly #db: EngineDatabase;
  readonly #sql: string;
  #prepared: EngineStatement | undefined;
  #isRaw = false;

  constructor(db: EngineDatabase, sql: string) {
    this.#db = db;
    this.#sql = sql;
  }

  raw(): this {
    this.#isRaw = true;
    this.#prepared?.setReturnArrays(true);
    return this;
  }

  all(values: readonly unknown[] = []): readonly unknown[] {
    return truncatesAtNul && values.some(hasNul)
      ? this.#prepareForNuls(values).all(...values.map(toBytes))
      : (this.#prepared ?? this.#prepare()).all(...values);
  }

  iterate(values: readonly unknown[] = []): IterableIterator<unknown> {
    return truncatesAtNul && values.some(hasNul)
      ? this.#prepareForNuls(values).iterate(...values.map(toBytes))
      : (this.#prepared ?? this.#prepare()).iterate(...values);
  }

  columns(): readonly string[] {
    return (this.#prepared ?? this.#prepare()).columns().map(({ name }) => name);
  }

  run(values: readonly unknown[] = []): StatementResult {
    return truncatesAtNul && values.some(hasNul)
      ? this.#prepareForNuls(values).run(...values.map(toBytes))
      : (this.#prepared ?? this.#prepare()).run(...values);
  }

  #prepare(): EngineStatement {
    const statement = this.#db.prepare(this.#sql);
    statement.setReturnArrays(this.#isRaw);
    this.#prepared = statement;
    return statement;
  }

  /** Prepares the same statement with bytes in place of the texts that the engine would truncate. */
  #prepareForNuls(values: readonly unknown[]): EngineStatement {
    const statement = this.#db.prepare(castParameters(this.#sql, values));
    statement.setReturnArrays(this.#isRaw);
    return statement;
  }
}

/** Whether the engine truncates a text at a NUL, as `@photostructure/sqlite` does. */
const truncatesAtNul = engineName !== "node:sqlite";

const hasNul = (value: unknown): value is string =>
  typeof value === "string" && value.includes("\0");

const toBytes = (value: unknown): unknown => (hasNul(value) ? Buffer.from(value) : value);

/** Changes a statement so that the parameters whose text contains a NUL can be passed as bytes. */
export function castParameters(sql: string, values: readonly unknown[]): string {
  let highestPosition = 0;
  return sql.replaceAll(/'(?:[^']|'')*'|\?(\d*)/g, (match: string, digits?: string) => {
    if (digits === undefined) {
      return match; // A string literal of the statement.
    }
    const position = digits === "" ? highestPosition + 1 : Number(digits);
    highestPosition = Math.max(highestPosition, position);
    return hasNul(values[position - 1]) ? `CAST(?${position} AS TEXT)` : `?${position}`;
  });
}

/** SQLite's primary result codes. */
const resultCodes = {
  corrupt: 11,
  full: 13,
  busy: 5,
  readOnly: 8,
  ioError: 10,
  constraint: 19,
  notDatabase: 26,
  cantOpen: 14,
};

/** Whether an error is one of SQLite's errors of this kind. */
export const isSqliteError = (cause: unknown, kind: keyof typeof resultCodes): boolean =>
  cause instanceof Error &&
  // The lowest byte is the primary code; the other bytes contain details.
  (Number(Reflect.get(cause, "errcode")) % 256 === resultCodes[kind] ||
    // Errors that `@photostructure/sqlite` throws while it reads rows have no code.
    (Reflect.get(cause, "code") === "ERR_SQLITE_ERROR" &&
      Reflect.get(cause, "errcode") === undefined &&
      cause.message === errorMessages[kind]));

/** The messages of SQLite's errors with these codes. */
const errorMessages: Readonly<Partial<Record<keyof typeof resultCodes, string>>> = {
  corrupt: "database disk image is malformed",
  full: "database or disk is full",
  ioError: "disk I/O error",
  notDatabase: "file is not a database",
  cantOpen: "unable to open database file",
};

/** Opens a database file, or the lock file, which is a database too. */
export const openDatabase = (path: string, timeoutMs = lockTimeoutMs): Connection =>
  openConnection(path, { busyMs: timeoutMs });

/** Rolls back the current transaction, if there is one. Never throws. */
export function rollBack(db: Connection): void {
  try {
    if (db.inTransaction) {
      db.exec("ROLLBACK");
    }
  } catch {
    // SQLite has rolled the transaction back itself. If the connection no longer works, the next transaction fails.
  }
}
