import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { keysPerBlock } from "../../datasets/examples/postgres/example-write-engine.ts";
import { messageOf, ServerError } from "../../model/errors.ts";
import { analyzeSharedTextsSql } from "../../runs/shared-texts/postgres-shared-texts.ts";
import { copiedRunsPlace } from "../../runs/postgres/run-places.ts";
import { migrate } from "../../storage/postgres/migrations.ts";
import type { PostgresClient } from "../../storage/postgres/postgres-client.ts";
import { allTenants } from "../../storage/postgres/tenant-policies.ts";
import { runTransaction } from "../../storage/postgres/transaction.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { rollBack } from "../../storage/sqlite/connection.ts";
import { databaseFileName, readDefaultTenantId } from "../../storage/sqlite/open-database.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import { commandLimits, connectCommand } from "../../store/postgres/command-session.ts";
import { postgresFormats } from "../../store/postgres/formats.ts";
import {
  deleteMoveProgress,
  readMoveProgress,
  writeMoveProgress,
} from "../../store/postgres/move-progress.ts";
import type { MoveProgress } from "../../store/postgres/move-progress.ts";
import { readTokenKeys } from "../../store/postgres/token-key-check.ts";
import { openSecondWriter } from "../../store/schema.ts";
import { portableTables } from "../portable-tables.ts";
import { encodeRow, RowTally } from "../portable-row.ts";
import { PostgresRows } from "../postgres-rows.ts";
import type { TableSum } from "../table-sums.ts";
import type { TenantIdentity } from "../tenant-rows.ts";
import { ChangeLog } from "./change-log.ts";
import type { ChangedRow } from "./change-log.ts";
import { MoveSource } from "./move-source.ts";
import { MoveTarget } from "./move-target.ts";

/** Options of moving a data folder to PostgreSQL. */
export interface MoveOptions {
  /** The data folder, on which a server may be running. */
  readonly dataDir: string;
  /** The URL of an empty PostgreSQL database, or of one to which a move from this folder was begun. */
  readonly store: string;
  /** Called with a short text when the move begins another stage, such as `copying runs`. */
  readonly onProgress?: ((line: string) => void) | undefined;
}

/** What was moved. */
export interface MoveResult {
  readonly tenants: number;
  /**
   * The counts and hashes of the last comparison of all rows. For a large folder, that comparison precedes the last
   * changes.
   */
  readonly tables: readonly TableSum[];
  /** For how long writes were refused, in milliseconds. */
  readonly heldMs: number;
}

/** Number of rows that are copied in one transaction; fewer for tables whose rows may be megabytes long. */
const rowsPerStep = 1_000;
const wideRowsPerStep = 200;

/**
 * If a step applies at most this many changes, those that remain are few enough to be applied while writes are refused.
 */
const fewChanges = 2_000;

/** Maximum number of attempts to catch up with a server before writes are refused anyway. */
const maxRounds = 20;

/** Milliseconds between two renewals of the refusal of writes. */
const renewalIntervalMs = 5_000;

/** If comparing all rows took at most this many milliseconds, they are compared again while writes are refused. */
const maxHeldComparisonMs = 10_000;

/** Milliseconds to wait for writes that the server had already begun when writes were refused. */
const settleMs = 50;

/**
 * Moves the data of a SQLite server to PostgreSQL while the server runs. Rows are copied step by step. Triggers record
 * which rows change meanwhile, and these are copied again. Then all rows are compared, writes are refused for a moment,
 * and the last changes are copied. From then on, the folder accepts no writes. A move that was interrupted continues
 * when this is called again.
 *
 * @throws {@link ServerError} the database is not empty or can't be reached, or its rows differ from those of the
 * folder at the end.
 */
export async function moveFolder({
  dataDir,
  store,
  onProgress = () => undefined,
}: MoveOptions): Promise<MoveResult> {
  const path = join(resolve(dataDir), databaseFileName);
  const db = openFolder(path, dataDir);
  try {
    const client = await connectCommand(store);
    try {
      return await moveDatabase({ db, client, dataDir, path, onProgress });
    } finally {
      await client.close();
    }
  } finally {
    rollBack(db);
    db.close();
  }
}

/**
 * Abandons a move: the folder accepts writes again, and its record of changes is deleted. The copied rows stay in
 * PostgreSQL.
 */
export function abandonMove(dataDir: string): void {
  const db = openFolder(join(resolve(dataDir), databaseFileName), dataDir);
  try {
    new ChangeLog(db).abandon();
  } finally {
    db.close();
  }
}

function openFolder(path: string, dataDir: string): Connection {
  if (!existsSync(path)) {
    throw new ServerError(
      "STORE",
      `there is no database in ${resolve(dataDir)}: name the data folder of the server`,
    );
  }
  try {
    return openSecondWriter(path);
  } catch (cause) {
    throw new ServerError("STORE", `Failed to open ${path}: ${messageOf(cause)}`, { cause });
  }
}

interface MoveParts {
  readonly db: Connection;
  readonly client: PostgresClient;
  readonly dataDir: string;
  readonly path: string;
  readonly onProgress: (line: string) => void;
}

/**
 * Moves a database over open connections.
 *
 * @internal
 */
export async function moveDatabase(parts: MoveParts): Promise<MoveResult> {
  const { db, client, dataDir, onProgress } = parts;
  await migrate(client, postgresFormats);
  const log = new ChangeLog(db);
  const progress = await beginMove(parts, log);
  await readTokenKeys(client, dataDir);
  const mover = new Mover(parts, log, progress);
  if (log.readMark()?.state !== "moved") {
    log.begin(progress.id);
    await mover.copy();
    const comparedMs = await mover.compare();
    await mover.catchUp();
    await mover.switchOver(comparedMs);
  }
  const result = await mover.readResult();
  await deleteMoveProgress(client);
  onProgress("servers can be started on PostgreSQL now");
  return result;
}

async function beginMove({ db, client }: MoveParts, log: ChangeLog): Promise<MoveProgress> {
  const source = readDefaultTenantId(db);
  const storedProgress = await readMoveProgress(client);
  const mark = log.readMark();
  if (storedProgress === undefined) {
    const { rows } = await client.run({
      text: "SELECT count(*) AS count FROM tenants",
      values: [],
    });
    if (Number(rows[0]?.["count"]) > 0) {
      throw new ServerError(
        "STORE",
        "the database has tenants already: a server was started on it, or a move is complete. Move to an empty database, or copy single tenants with millrace backup and restore --tenant",
      );
    }
    const progress = { id: randomUUID(), source, applied: 0, table: 0, position: null };
    log.assertNoOtherMove(progress.id);
    if (mark !== undefined) {
      // An earlier move to another database was begun. The changes that it has recorded are not needed here.
      log.abandon();
    }
    await inTransaction(client, async () => {
      await client.run({
        text: "INSERT INTO settings (key, value) VALUES ('tenant_id', $1)",
        values: [source],
      });
      await writeMoveProgress(client, progress);
    });
    return progress;
  }
  if (storedProgress.source !== source) {
    throw new ServerError(
      "STORE",
      "a move of another data folder to this database was begun: name that folder, or an empty database",
    );
  }
  if (
    mark?.id !== storedProgress.id &&
    (storedProgress.applied > 0 || storedProgress.table > 0 || storedProgress.position !== null)
  ) {
    throw new ServerError(
      "STORE",
      "the move was abandoned, and what changed since then was not recorded: begin again with an empty database",
    );
  }
  return storedProgress;
}

const inTransaction = <Result>(client: PostgresClient, call: () => Promise<Result>) =>
  runTransaction(
    client,
    { tenant: allTenants, isReadOnly: false, ...commandLimits, locks: [] },
    call,
  );

class Mover {
  readonly #parts: MoveParts;
  readonly #log: ChangeLog;
  readonly #source: MoveSource;
  readonly #target: MoveTarget;
  #progress: MoveProgress;
  #heldMs = 0;
  /** The number and the combined hash of the rows of each table, from the last comparison. */
  readonly #sums = new Map<string, RowTally>();
  /** Tenants with examples that changed after their words were indexed. */
  readonly #tenantsToReindex = new Set<string>();

  constructor(parts: MoveParts, log: ChangeLog, progress: MoveProgress) {
    this.#parts = parts;
    this.#log = log;
    this.#source = new MoveSource(parts.db);
    this.#target = new MoveTarget(parts.client);
    this.#progress = progress;
  }

  /** Copies all tables, and the rows that change meanwhile. */
  async copy(): Promise<void> {
    let shown: string | undefined;
    for (;;) {
      const table = portableTables[this.#progress.table];
      if (table === undefined) {
        return;
      }
      if (shown !== table.name) {
        shown = table.name;
        this.#parts.onProgress(`copying ${table.name}`);
      }
      await this.#step(() => {
        const limit = table.isWide === true ? wideRowsPerStep : rowsPerStep;
        const { changed, position } = this.#source.scan(table, this.#progress.position, limit);
        return {
          changed,
          next:
            position === null
              ? { table: this.#progress.table + 1, position: null }
              : { table: this.#progress.table, position },
        };
      });
    }
  }

  /** Applies recorded changes, until only a few are left. */
  async catchUp(): Promise<void> {
    for (let round = 0; round < maxRounds; round += 1) {
      if ((await this.#step()) <= fewChanges) {
        return;
      }
    }
  }

  /**
   * Applies the changes up to the current state of the folder, and compares the counts and hashes of all its rows.
   *
   * @returns how long it took, in milliseconds
   */
  async compare(): Promise<number> {
    const startMs = performance.now();
    this.#parts.onProgress("comparing all rows");
    await this.#parts.client.exec(analyzeSharedTextsSql);
    this.#tenantsToReindex.clear();
    await this.#inSnapshot(async () => {
      await this.#applyChanges([], {});
      for (const { id } of this.#source.rows.listTenants()) {
        await inTransaction(this.#parts.client, () => this.#target.open(id).indexExamples());
      }
      await this.#compareRows();
    });
    return performance.now() - startMs;
  }

  /** Refuses writes, applies the remaining changes, and ends the move, so that the folder accepts no more writes. */
  async switchOver(comparedMs: number): Promise<void> {
    const { id } = this.#progress;
    const startMs = performance.now();
    this.#log.refuseWrites(id);
    this.#parts.onProgress("refusing writes for a moment");
    // A separate connection: the other one may be in a transaction that will be rolled back.
    const renewer = openSecondWriter(this.#parts.path);
    const timer = setInterval(() => new ChangeLog(renewer).refuseWrites(id), renewalIntervalMs);
    try {
      await delay(settleMs);
      for (let isComplete = false; !isComplete;) {
        await this.#step();
        if (comparedMs <= maxHeldComparisonMs) {
          await this.#inSnapshot(() => this.#compareRows());
        } else {
          await this.#inSnapshot(() => this.#compareCounts());
        }
        await this.#copyPositions();
        isComplete = this.#log.complete(id, this.#progress.applied);
      }
    } catch (cause) {
      this.#log.acceptWrites(id);
      throw cause;
    } finally {
      clearInterval(timer);
      renewer.close();
      this.#heldMs = performance.now() - startMs;
    }
  }

  /**
   * Returns the result of the last comparison. Compares all rows first if an earlier process had already ended the
   * move.
   */
  async readResult(): Promise<MoveResult> {
    if (this.#sums.size === 0) {
      await this.#inSnapshot(() => this.#compareRows());
    }
    return {
      tenants: this.#source.rows.listTenants().length,
      tables: [...this.#sums].map(([name, { count, digest }]) => ({ name, count, sha256: digest })),
      heldMs: Math.round(this.#heldMs),
    };
  }

  /** Performs a step, and returns how many changes it applied. */
  async #step(
    plan: () => { readonly changed: readonly ChangedRow[]; readonly next: StepEnd } = () => ({
      changed: [],
      next: {},
    }),
  ): Promise<number> {
    const applied = await this.#inSnapshot(() => {
      const { changed, next } = plan();
      return this.#applyChanges(changed, next);
    });
    this.#log.forget(this.#progress.applied);
    return applied;
  }

  /** Applies the changes up to the current state of the folder, and copies rows, in one transaction. */
  async #applyChanges(rows: readonly ChangedRow[], next: StepEnd): Promise<number> {
    const lastChange = this.#log.readLastChange();
    const changes = this.#log.list(this.#progress.applied, lastChange);
    const progress = { ...this.#progress, ...next, applied: lastChange };
    try {
      await inTransaction(this.#parts.client, async () => {
        await this.#target.apply([...changes, ...rows], this.#source);
        for (const { table, tenantId } of changes) {
          if ((table === "examples" || table === "datasets") && tenantId !== null) {
            this.#tenantsToReindex.add(tenantId);
          }
        }
        await writeMoveProgress(this.#parts.client, progress);
      });
    } catch (cause) {
      this.#target.clearCache();
      throw cause;
    }
    this.#progress = progress;
    return changes.length;
  }

  /** Reads from the folder in one transaction, so that all reads see the same state. */
  async #inSnapshot<Result>(read: () => Promise<Result>): Promise<Result> {
    const { db } = this.#parts;
    db.exec("BEGIN; SELECT 1 FROM sqlite_master LIMIT 1");
    try {
      return await read();
    } finally {
      rollBack(db);
    }
  }

  async #compareRows(): Promise<void> {
    const rows = new PostgresRows(this.#parts.client);
    this.#sums.clear();
    await inTransaction(this.#parts.client, async () => {
      for (const tenant of this.#source.rows.listTenants()) {
        for (const table of portableTables) {
          const expected = new RowTally();
          for (const row of this.#source.rows.read(table, tenant.id)) {
            expected.add(encodeRow(row));
          }
          const postgresRows = new RowTally();
          for await (const row of rows.read(table, tenant.id)) {
            postgresRows.add(encodeRow(row));
          }
          if (postgresRows.count !== expected.count || postgresRows.digest !== expected.digest) {
            throw createDifferenceError(table.name, tenant, [expected.count, postgresRows.count]);
          }
          const sum = this.#sums.get(table.name) ?? new RowTally();
          this.#sums.set(table.name, sum);
          sum.merge(postgresRows);
        }
      }
    });
  }

  async #compareCounts(): Promise<void> {
    const { db, client } = this.#parts;
    await inTransaction(client, async () => {
      for (const tenant of this.#source.rows.listTenants()) {
        for (const { name, sqlite } of portableTables.filter(
          (table) => table.name !== "settings",
        )) {
          const expected = Number(
            db
              .prepareRaw(`SELECT count(*) FROM ${sqlite.from} WHERE ${sqlite.tenant} = ?`)
              .all([tenant.id])
              .flat()[0],
          );
          const { rows } = await client.run({
            text: `SELECT count(*) AS count FROM ${name} WHERE tenant_id = $1`,
            values: [tenant.id],
          });
          const postgresCount = Number(rows[0]?.["count"]);
          if (postgresCount !== expected) {
            throw createDifferenceError(name, tenant, [expected, postgresCount]);
          }
        }
      }
    });
  }

  /**
   * Copies what changes with nearly every write, and is therefore left for the end: how far rules were applied, and the
   * last numbers that were assigned to rows. Also indexes the words of examples that have changed.
   */
  async #copyPositions(): Promise<void> {
    const { db, client } = this.#parts;
    const list = (sql: string) => parseRows(db.prepare(sql).raw().all());
    await inTransaction(client, async () => {
      for (const [tenantId, id, fromRow] of list("SELECT tenant_id, id, from_row FROM rules")) {
        await client.run({
          text: "UPDATE rules SET from_row = $3 WHERE tenant_id = $1 AND id = $2",
          values: [tenantId, id, Number(fromRow) + copiedRunsPlace],
        });
      }
      await client.exec("DELETE FROM rule_cursor; DELETE FROM rule_open_roots");
      for (const [id, lastRow] of list("SELECT id, last_row FROM rule_cursor")) {
        await client.run({
          text: "INSERT INTO rule_cursor (id, last_row) VALUES ($1, $2)",
          values: [id, Number(lastRow) + copiedRunsPlace],
        });
      }
      for (const [row, key, since] of list(
        "SELECT run_row, run_key, since_us FROM rule_open_roots",
      )) {
        await client.run({
          text: "INSERT INTO rule_open_roots (run_row, run_key, since_us) VALUES ($1, $2, $3)",
          values: [Number(row) + copiedRunsPlace, String(key).slice(0, 36), since],
        });
      }
      for (const tenantId of this.#tenantsToReindex) {
        await this.#target.open(tenantId).indexExamples();
      }
      await client.exec(`
        SELECT setval('example_key_blocks', (SELECT coalesce(max(key), 0) / ${keysPerBlock} + 1 FROM examples));
        SELECT setval(pg_get_serial_sequence('example_blobs', 'key'), (SELECT coalesce(max(key), 0) + 1 FROM example_blobs));
        SELECT setval(pg_get_serial_sequence('annotation_queue_runs', 'place'),
          (SELECT coalesce(max(place), 0) + 1 FROM annotation_queue_runs))`);
    });
  }
}

/** The table and position at which copying continues after a step; empty if the step only applies changes. */
type StepEnd = Partial<Pick<MoveProgress, "table" | "position">>;

const createDifferenceError = (
  table: string,
  { id, handle }: TenantIdentity,
  [expected, actual]: readonly [number, number],
): ServerError =>
  new ServerError(
    "STORE",
    `the rows of ${table} of the tenant ${handle ?? id} differ: the folder has ${expected}, PostgreSQL has ${actual}${expected === actual ? " with other content" : ""}. The folder stays in use; abandon the move with millrace move --abandon and begin again with an empty database`,
  );
