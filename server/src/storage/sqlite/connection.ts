import { createRequire } from "node:module";
import process from "node:process";
import { QueryClock } from "./query-clock.ts";
import type { QueryLimit } from "./query-clock.ts";

/** Milliseconds that a statement waits for another connection's lock. */
export const lockTimeoutMs = 5_000;

/** A prepared statement. */
export interface Statement {
  /** From now on, rows are lists of values in the order of the columns instead of objects. */
  raw(): Statement;
  all(values?: readonly unknown[]): readonly unknown[];
  /** The names of the columns of its rows, in their order. */
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
  prepare(sql: string): Statement;
  /**
   * Returns a statement in raw mode, and the same one for the same text while it is in use often enough. For texts
   * that depend on the query: preparing takes about as long as reading a page's rows from an index.
   */
  prepareRaw(sql: string): Statement;
  /** Defines an SQL function with as many arguments as `performer` has. */
  define(name: string, performer: (...values: unknown[]) => string): void;
  /**
   * Calls `read`, and returns when its result is there. Its statements end when they exceed the limit, provided that
   * they call `withinDeadline()` for the rows that they read. One call at a time: the limit is the connection's.
   *
   * @throws RequestError 408 if the time is up, 503 if the flag was set.
   */
  limited<Result>(limit: QueryLimit, read: () => Result | Promise<Result>): Promise<Result>;
  /** Throws like {@link Connection.limited}, for work between statements. Without a limit it does nothing. */
  checkLimit(): void;
  close(): void;
}

export interface ConnectionOptions {
  /** Milliseconds to wait for another connection's lock. */
  readonly busyMs: number;
  /** Whether the connection is read-only. It then does not create a missing file. */
  readonly isReadOnly?: boolean;
}

/** Opens a database file. Creates a missing one, unless the connection is read-only. */
const openConnection = (path: string, options: ConnectionOptions): Connection =>
  new EngineConnection(path, options);

/** The API that `node:sqlite` and `@photostructure/sqlite` have in common, as far as it is used here. */
interface Engine {
  readonly DatabaseSync: new (path: string, options: object) => EngineDatabase;
}

interface EngineDatabase {
  readonly isTransaction: boolean;
  exec(sql: string): void;
  prepare(sql: string): EngineStatement;
  function(
    name: string,
    options: object,
    performer: (...values: unknown[]) => number | string,
  ): void;
  close(): void;
}

interface EngineStatement {
  all(...values: readonly unknown[]): unknown[];
  run(...values: readonly unknown[]): { changes: number; lastInsertRowid: number };
  setReturnArrays(isOn: boolean): void;
  columns(): readonly { readonly name: string }[];
}

/**
 * The minimum version of SQLite for using Node's own engine. Earlier versions may lose pages of the write-ahead log
 * if two connections write it back at the same time ("WAL-reset bug").
 */
const fixedVersion = [3, 51, 3];

/** The engine that all connections of this process use, and its name. */
const { engine, engineName } = loadEngine();
export { engineName };

function loadEngine(): { readonly engine: Engine; readonly engineName: string } {
  const builtIn = isFixed(process.versions["sqlite"]) ? loadBuiltIn() : undefined;
  if (builtIn !== undefined) {
    return { engine: builtIn, engineName: "node:sqlite" };
  }
  const name = "@photostructure/sqlite";
  return { engine: createRequire(import.meta.url)(name) as Engine, engineName: name };
}

/** Whether a version of SQLite is at least the minimum version. */
export function isFixed(version: string | undefined): boolean {
  const parts = (version ?? "0").split(".").map(Number);
  const at = fixedVersion.findIndex((part, index) => (parts[index] ?? 0) !== part);
  return at === -1 || (parts[at] ?? 0) > (fixedVersion[at] ?? 0);
}

/** Suppresses the warning that some versions of Node print when the module is first loaded. */
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
  /** Statements by text; the one that was used last is last. */
  readonly #statements = new Map<string, Statement>();

  constructor(path: string, { busyMs, isReadOnly = false }: ConnectionOptions) {
    this.#db = new engine.DatabaseSync(path, {
      timeout: busyMs,
      readOnly: isReadOnly,
      enableForeignKeyConstraints: false,
    });
    // Not deterministic, so that SQLite calls it for each row instead of once per statement.
    this.#db.function("within_deadline", { deterministic: false }, () => this.#clock.check());
  }

  get inTransaction(): boolean {
    return this.#db.isTransaction;
  }

  exec(sql: string): void {
    this.#db.exec(sql);
  }

  prepare(sql: string): Statement {
    return new EngineStatementOf(this.#db, sql);
  }

  prepareRaw(sql: string): Statement {
    const statement = this.#statements.get(sql) ?? this.prepare(sql).raw();
    this.#statements.delete(sql);
    this.#statements.set(sql, statement);
    const [oldest] = this.#statements.size > maxCachedStatements ? this.#statements.keys() : [];
    this.#statements.delete(oldest ?? "");
    return statement;
  }

  define(name: string, performer: (...values: unknown[]) => string): void {
    this.#db.function(name, { deterministic: false }, performer);
  }

  limited<Result>(limit: QueryLimit, read: () => Result | Promise<Result>): Promise<Result> {
    return this.#clock.limited(limit, read);
  }

  checkLimit(): void {
    this.#clock.check();
  }

  close(): void {
    this.#statements.clear();
    this.#db.close();
  }
}

/** Statements that a connection keeps for texts that depend on queries. Each takes some kilobytes. */
const maxCachedStatements = 100;

class EngineStatementOf implements Statement {
  readonly #db: EngineDatabase;
  readonly #sql: string;
  readonly #statement: EngineStatement;
  #isRaw = false;

  constructor(db: EngineDatabase, sql: string) {
    this.#db = db;
    this.#sql = sql;
    this.#statement = db.prepare(sql);
  }

  raw(): this {
    this.#isRaw = true;
    this.#statement.setReturnArrays(true);
    return this;
  }

  all(values: readonly unknown[] = []): readonly unknown[] {
    return cutsTexts && values.some(hasNul)
      ? this.#castNuls(values).all(...values.map(toBytes))
      : this.#statement.all(...values);
  }

  columns(): readonly string[] {
    return this.#statement.columns().map(({ name }) => name);
  }

  run(values: readonly unknown[] = []): StatementResult {
    return cutsTexts && values.some(hasNul)
      ? this.#castNuls(values).run(...values.map(toBytes))
      : this.#statement.run(...values);
  }

  /** The same statement, with bytes as parameters in place of texts that would be cut off. */
  #castNuls(values: readonly unknown[]): EngineStatement {
    const statement = this.#db.prepare(castParameters(this.#sql, values));
    statement.setReturnArrays(this.#isRaw);
    return statement;
  }
}

/** `@photostructure/sqlite` cuts a text off at a NUL. */
const cutsTexts = engineName !== "node:sqlite";

const hasNul = (value: unknown): value is string =>
  typeof value === "string" && value.includes("\0");

const toBytes = (value: unknown): unknown => (hasNul(value) ? Buffer.from(value) : value);

/** Changes a statement so that it takes bytes for those parameters whose text contains a NUL. */
export function castParameters(sql: string, values: readonly unknown[]): string {
  let count = 0;
  return sql.replaceAll(/'(?:[^']|'')*'|\?(\d*)/g, (match: string, number?: string) => {
    if (number === undefined) {
      return match; // A string literal of the statement.
    }
    const position = number === "" ? count + 1 : Number(number);
    count = Math.max(count, position);
    return hasNul(values[position - 1]) ? `CAST(?${position} AS TEXT)` : `?${position}`;
  });
}

/** SQLite's primary result codes. */
const codes = {
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
export const isSqliteError = (cause: unknown, reason: keyof typeof codes): boolean =>
  cause instanceof Error &&
  // The lowest byte is the primary code; the bytes above it are details.
  (Number(Reflect.get(cause, "errcode")) % 256 === codes[reason] ||
    // Errors that `@photostructure/sqlite` throws while it reads rows have no code.
    (Reflect.get(cause, "code") === "ERR_SQLITE_ERROR" &&
      Reflect.get(cause, "errcode") === undefined &&
      cause.message === messages[reason]));

/** SQLite's messages for these codes. */
const messages: Readonly<Partial<Record<keyof typeof codes, string>>> = {
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
    // SQLite has rolled it back itself. The next transaction shows whether the connection still works.
  }
}
