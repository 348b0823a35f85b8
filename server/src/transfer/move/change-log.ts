import { ServerError } from "../../model/errors.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { rollBack } from "../../storage/sqlite/connection.ts";
import { parseRows, textOrNull } from "../../storage/sqlite/rows.ts";
import { explainWriteRefusal, moveSetting, parseMoveMark } from "../../store/move-mark.ts";
import type { MoveMark } from "../../store/move-mark.ts";
import { portableTables } from "../portable-tables.ts";
import type { PortableTable } from "../portable-tables.ts";

/**
 * Identifies a row that changed or that is to be copied: its values of `PortableTable.key` in SQLite, and its tenant if
 * it has one.
 */
export interface ChangedRow {
  readonly table: string;
  readonly tenantId: string | null;
  readonly key: readonly (string | number)[];
}

/**
 * How long writes stay refused, in milliseconds, after the move last renewed the refusal. If a move is killed, writes
 * are therefore accepted again after this time.
 */
const leaseMs = 30_000;

/** Name of the table, and prefixes of the names of the triggers, that a move adds to the database. */
const changeTable = "move_changes";
const triggerPrefix = "move_log_";
const guardPrefix = "move_guard_";

/**
 * Tables that accept writes even after a move: a server writes them when it starts, and a server may still be started
 * on the folder to serve the old data.
 */
const unguardedTables: ReadonlySet<string> = new Set(["settings"]);

/** The tables whose rows are parts of runs: a change of one of these rows is recorded as a change of its run. */
const tablesOfRuns = ["runs", "payloads", "attachments"] as const;

/**
 * Records what a running server changes while its data is copied: triggers write the key of each row that is inserted,
 * changed or deleted into a table, in the transaction of the change, so that none is missed. They exist only during a
 * move.
 */
export class ChangeLog {
  readonly #db: Connection;

  constructor(db: Connection) {
    this.#db = db;
  }

  /** Reads the state of the move; `undefined` if no move was begun. */
  readMark(): MoveMark | undefined {
    const rows = this.#db
      .prepare(`SELECT value FROM settings WHERE key = '${moveSetting}'`)
      .raw()
      .all();
    return parseMoveMark(parseRows(rows)[0]?.[0]);
  }

  /** Begins a move, or continues the one that was begun. */
  begin(id: string): void {
    this.#transact(() => {
      this.#db.exec(
        `CREATE TABLE IF NOT EXISTS ${changeTable} (
           seq INTEGER PRIMARY KEY AUTOINCREMENT, tbl TEXT NOT NULL, tenant_id TEXT, key_json TEXT NOT NULL);
         ${createTriggers()}`,
      );
      this.#writeMark({ id, state: "copying", untilMs: 0 });
    });
  }

  /** Reads the number of the last change that was recorded. */
  readLastChange(): number {
    const rows = this.#db.prepare(`SELECT coalesce(max(seq), 0) FROM ${changeTable}`).raw().all();
    return Number(parseRows(rows)[0]?.[0]);
  }

  /** Lists the rows that changed after one change and up to another, each of them once. */
  list(after: number, lastChange: number): readonly ChangedRow[] {
    const statement = this.#db
      .prepare(
        `SELECT DISTINCT tbl, tenant_id, key_json FROM ${changeTable} WHERE seq > ? AND seq <= ?`,
      )
      .raw();
    return parseRows(statement.all([after, lastChange])).map(([table, tenantId, key]) => ({
      table: String(table),
      tenantId: textOrNull(tenantId),
      key: JSON.parse(String(key)) as (string | number)[],
    }));
  }

  /** Deletes the recorded changes up to and including `lastChange`, which were applied. */
  forget(lastChange: number): void {
    this.#transact(() =>
      this.#db.prepare(`DELETE FROM ${changeTable} WHERE seq <= ?`).run([lastChange]),
    );
  }

  /**
   * Refuses writes for a limited time. The caller repeats this during the switch, so that a killed move does not block
   * a server for long.
   */
  refuseWrites(id: string): void {
    this.#transact(() =>
      this.#writeMark({ id, state: "switching", untilMs: Date.now() + leaseMs }),
    );
  }

  /** Accepts writes again. */
  acceptWrites(id: string): void {
    this.#transact(() => this.#writeMark({ id, state: "copying", untilMs: 0 }));
  }

  /**
   * Ends the move: from now on the database accepts no writes, not even those of other programs.
   *
   * @returns whether the move has ended; `false` without any effect if something was written after the change
   * `lastApplied`
   */
  complete(id: string, lastApplied: number): boolean {
    return this.#transact(() => {
      if (this.readLastChange() > lastApplied) {
        return false;
      }
      this.#db.exec(createGuards());
      this.#writeMark({ id, state: "moved", untilMs: 0 });
      return true;
    });
  }

  /** Removes everything that a move has added to the database, which then accepts writes again. */
  abandon(): void {
    this.#transact(() => {
      const names = this.#db
        .prepare(
          `SELECT name FROM sqlite_master WHERE type = 'trigger'
           AND (name GLOB '${triggerPrefix}*' OR name GLOB '${guardPrefix}*')`,
        )
        .raw()
        .all();
      for (const [name] of parseRows(names)) {
        this.#db.exec(`DROP TRIGGER ${String(name)}`);
      }
      this.#db.exec(
        `DROP TABLE IF EXISTS ${changeTable}; DELETE FROM settings WHERE key = '${moveSetting}'`,
      );
    });
  }

  /** @throws ServerError another move has ended on this folder, or is refusing writes to it. */
  assertNoOtherMove(id: string): void {
    const mark = this.readMark();
    if (
      mark !== undefined &&
      mark.id !== id &&
      explainWriteRefusal(mark, Date.now()) !== undefined
    ) {
      throw new ServerError(
        "STORE",
        "the data of this folder was moved to another database, or is being moved: run millrace move --abandon first",
      );
    }
  }

  #writeMark(mark: MoveMark): void {
    this.#db
      .prepare(
        "INSERT INTO settings (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
      )
      .run([moveSetting, JSON.stringify(mark)]);
  }

  #transact<Result>(write: () => Result): Result {
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      const result = write();
      this.#db.exec("COMMIT");
      return result;
    } finally {
      rollBack(this.#db);
    }
  }
}

const events = ["INSERT", "UPDATE", "DELETE"] as const;

/** The names of the rows that a trigger can read, by the event that fires it. */
const rowsOf = { INSERT: ["NEW"], UPDATE: ["OLD", "NEW"], DELETE: ["OLD"] } as const;

const createTriggersOf = (table: string, toRecord: (row: string) => string): readonly string[] =>
  events.map(
    (event) => `CREATE TRIGGER IF NOT EXISTS ${triggerPrefix}${table}_${event.toLowerCase()}
      AFTER ${event} ON ${table} BEGIN
        ${rowsOf[event].map((row) => `INSERT INTO ${changeTable} (tbl, tenant_id, key_json) ${toRecord(row)};`).join(" ")}
      END;`,
  );

function createTriggers(): string {
  const runTriggers = tablesOfRuns.flatMap((table) =>
    createTriggersOf(table, (row) => `VALUES ('runs', NULL, json_array(${row}.id))`),
  );
  const otherTriggers = portableTables
    .filter(({ name }) => !(tablesOfRuns as readonly string[]).includes(name))
    .flatMap(({ name, key, sqlite }) =>
      createTriggersOf(name, (row) => {
        const tenant = sqlite.tenant === "t.tenant_id" ? `${row}.tenant_id` : "NULL";
        const keys = key.map((column) => `${row}.${column}`).join(", ");
        const values = `'${name}', ${tenant}, json_array(${keys})`;
        return name === "settings"
          ? `SELECT ${values} WHERE ${row}.key GLOB 'retention/*'`
          : `VALUES (${values})`;
      }),
    );
  const tenantTriggers = createTriggersOf(
    "tenants",
    (row) => `VALUES ('tenants', ${row}.id, '[]')`,
  );
  return [...runTriggers, ...otherTriggers, ...tenantTriggers].join("\n");
}

const createGuards = (): string =>
  [...portableTables.map(({ name }: PortableTable) => name), "payloads"]
    .filter((name) => !unguardedTables.has(name))
    .flatMap((name) =>
      events.map(
        (event) => `CREATE TRIGGER IF NOT EXISTS ${guardPrefix}${name}_${event.toLowerCase()}
          BEFORE ${event} ON ${name} BEGIN SELECT RAISE(ABORT, 'the data of this folder was moved to PostgreSQL'); END;`,
      ),
    )
    .join("\n");
