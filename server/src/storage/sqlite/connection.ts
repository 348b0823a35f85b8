import { createRequire } from "node:module";
import process from "node:process";
import { QueryClock } from "./query-clock.ts";
import type { QueryLimit } from "./query-clock.ts";

/** How long a statement waits for another connection's lock. */
export const lockTimeoutMs = 5_000;

/** A prepared statement. */
export interface Statement {
  /** Rows are lists of values from now on, in the order of the columns, and not objects. */
  raw(): Statement;
  all(values?: readonly unknown[]): readonly unknown[];
  run(values?: readonly unknown[]): StatementResult;
}

export interface StatementResult {
  readonly changes: number;
  readonly lastInsertRowid: number;
}

/** One connection to a database: what the store needs of an engine, and no more. */
export interface Connection {
  readonly inTransaction: boolean;
  exec(sql: string): void;
  prepare(sql: string): Statement;
  /** Makes a function that statements can call, with as many arguments as it takes. */
  define(name: string, performer: (...values: unknown[]) => string): void;
  /**
   * Calls `read`, whose statements end where they go beyond the limit: those that ask
   * `withinDeadline()` for the rows they pass.
   *
   * @throws RequestError 408 beyond the time, 503 where the flag was set.
   */
  limited<Result>(limit: QueryLimit, read: () => Result): Result;
  close(): void;
}

export interface ConnectionOptions {
  /** Milliseconds to wait for another connection's lock. */
  readonly busyMs: number;
  /** Whether the connection can only read, and does not create a missing file. */
  readonly isReadOnly?: boolean;
}

/** Opens a file; makes it where it is missing, unless it is only to be read. */
const openConnection = (path: string, options: ConnectionOptions): Connection =>
  new EngineConnection(path, options);

/** What `node:sqlite` and `@photostructure/sqlite` have in common, as far as it is used. */
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
}

/**
 * The engine of Node where its SQLite is new enough: versions before 3.51.3 may lose pages of the
 * write-ahead log where two connections write it back at once ("WAL-reset bug").
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

export function isFixed(version: string | undefined): boolean {
  const parts = (version ?? "0").split(".").map(Number);
  const at = fixedVersion.findIndex((part, index) => (parts[index] ?? 0) !== part);
  return at === -1 || (parts[at] ?? 0) > (fixedVersion[at] ?? 0);
}

/** Without the warning that some versions of Node print when the module is first loaded. */
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

  constructor(path: string, { busyMs, isReadOnly = false }: ConnectionOptions) {
    this.#db = new engine.DatabaseSync(path, {
      timeout: busyMs,
      readOnly: isReadOnly,
      enableForeignKeyConstraints: false,
    });
    // Not deterministic, so that SQLite calls it for each row and not once for all.
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

  define(name: string, performer: (...values: unknown[]) => string): void {
    this.#db.function(name, { deterministic: false }, performer);
  }

  limited<Result>(limit: QueryLimit, read: () => Result): Result {
    return this.#clock.limited(limit, read);
  }

  close(): void {
    this.#db.close();
  }
}

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

  run(values: readonly unknown[] = []): StatementResult {
    return cutsTexts && values.some(hasNul)
      ? this.#castNuls(values).run(...values.map(toBytes))
      : this.#statement.run(...values);
  }

  /** The same statement, which takes bytes for the texts that would be cut. */
  #castNuls(values: readonly unknown[]): EngineStatement {
    const statement = this.#db.prepare(castParameters(this.#sql, values));
    statement.setReturnArrays(this.#isRaw);
    return statement;
  }
}

/** `@photostructure/sqlite` cuts a text at a NUL. */
const cutsTexts = engineName !== "node:sqlite";

const hasNul = (value: unknown): value is string =>
  typeof value === "string" && value.includes("\0");

const toBytes = (value: unknown): unknown => (hasNul(value) ? Buffer.from(value) : value);

/** The statement that takes bytes in place of those texts which hold a NUL. */
export function castParameters(sql: string, values: readonly unknown[]): string {
  let count = 0;
  return sql.replaceAll(/'(?:[^']|'')*'|\?(\d*)/g, (found: string, number?: string) => {
    if (number === undefined) {
      return found; // A text of the statement itself.
    }
    const place = number === "" ? count + 1 : Number(number);
    count = Math.max(count, place);
    return hasNul(values[place - 1]) ? `CAST(?${place} AS TEXT)` : `?${place}`;
  });
}

/** SQLite's own codes, without what extends them. */
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

/** Whether SQLite failed for this reason. */
export const isSqliteError = (cause: unknown, reason: keyof typeof codes): boolean =>
  cause instanceof Error &&
  // The lowest byte is the code, those above it say more.
  (Number(Reflect.get(cause, "errcode")) % 256 === codes[reason] ||
    // Errors that `@photostructure/sqlite` throws while it reads rows have no code.
    (Reflect.get(cause, "code") === "ERR_SQLITE_ERROR" &&
      Reflect.get(cause, "errcode") === undefined &&
      cause.message === texts[reason]));

/** SQLite's own words for them. */
const texts: Readonly<Partial<Record<keyof typeof codes, string>>> = {
  corrupt: "database disk image is malformed",
  full: "database or disk is full",
  ioError: "disk I/O error",
  notDatabase: "file is not a database",
  cantOpen: "unable to open database file",
};

/** Opens any file; used for the lock too. */
export const openDatabase = (path: string, timeoutMs = lockTimeoutMs): Connection =>
  openConnection(path, { busyMs: timeoutMs });

/** Ends the transaction under way, where there is one, without its changes. Never throws. */
export function rollBack(db: Connection): void {
  try {
    if (db.inTransaction) {
      db.exec("ROLLBACK");
    }
  } catch {
    // SQLite rolled it back by itself. The next transaction shows whether the connection still works.
  }
}
