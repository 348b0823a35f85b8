import { parseRows, toWholeTextSql } from "../../../storage/sqlite/rows.ts";
import { openReader } from "../../../storage/sqlite/open-database.ts";
import { openDatabase } from "../../../storage/sqlite/connection.ts";
import type { Connection } from "../../../storage/sqlite/connection.ts";
import { toTextIndexPath } from "./text-index.ts";
import { toIndexedText } from "../../indexed-text.ts";
import { damagedBodies, PayloadReader, toBuffer } from "../payload-reader.ts";

/** Maximum number of characters and of runs that one step indexes. A step takes some tens of milliseconds. */
const maxStepChars = 400_000;
const maxStepRuns = 1_000;
/**
 * Number of pages of the index that one step of the purge rewrites. The purge removes entries that were only marked as
 * deleted.
 */
const pagesPerPurge = 200;

/** Methods of the writer thread that the indexer calls; see `TextIndexWriter`. */
export interface IndexerWrites {
  claimRuns(row: number): Promise<void>;
  deleteChanges(seq: number): Promise<void>;
}

/** Adds runs to the text index, in steps. Runs are claimed first: from then on, their changes are recorded. */
export class TextIndexer {
  readonly #db: Connection;
  readonly #index: Connection;
  readonly #payloads: PayloadReader;
  readonly #writer: IndexerWrites;
  readonly #statements;
  #claimed: number;
  #indexed: number;
  #isPurged: boolean;
  /** Whether a purge has begun and needs further steps. */
  #isPurging = false;
  /** The last row of `runs` at the previous step. Runs that were added since then may soon be updated. */
  #lastSeenRow = 0;

  constructor(databasePath: string, writer: IndexerWrites) {
    this.#writer = writer;
    this.#db = openReader(databasePath);
    this.#index = openDatabase(toTextIndexPath(databasePath));
    this.#index.exec("PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON;");
    this.#payloads = new PayloadReader(this.#db);
    this.#statements = {
      lastRow: this.#db.prepare("SELECT max(rowid) FROM runs").raw(),
      listRuns: this.#db
        .prepare(
          `SELECT rowid, ${toWholeTextSql("name")}, id FROM runs WHERE rowid > ? AND rowid <= ? ORDER BY rowid LIMIT ?`,
        )
        .raw(),
      findRun: this.#db
        .prepare(`SELECT rowid, ${toWholeTextSql("name")}, id FROM runs WHERE rowid = ?`)
        .raw(),
      listChanges: this.#db.prepare("SELECT seq, run FROM text_changes ORDER BY seq LIMIT ?").raw(),
      insert: this.#index.prepare("INSERT INTO docs (rowid, text) VALUES (?, ?)"),
      remove: this.#index.prepare("DELETE FROM docs WHERE rowid = ?"),
      setLastIndexedRow: this.#index.prepare("UPDATE state SET indexed = ?"),
      setPurged: this.#index.prepare("UPDATE state SET is_purged = ?"),
      purge: this.#index.prepare("INSERT INTO docs (docs, rank) VALUES ('merge', ?)"),
      changeCount: this.#index.prepare("SELECT total_changes()").raw(),
    };
    const [[claimed] = []] = parseRows(this.#db.prepare("SELECT row FROM text_claim").raw().all());
    const [[indexed, isPurged] = []] = parseRows(
      this.#index.prepare("SELECT indexed, is_purged FROM state").raw().all(),
    );
    this.#claimed = Number(claimed);
    this.#indexed = Number(indexed);
    this.#isPurged = isPurged === 1;
  }

  /** Indexes some of the new or changed runs. Returns whether there is more to do now. */
  async runStep({
    shouldIndexNewRuns = true,
  }: { readonly shouldIndexNewRuns?: boolean } = {}): Promise<boolean> {
    if (await this.#indexChanges()) {
      return true;
    }
    if (!shouldIndexNewRuns) {
      return !this.#isPurged && this.#purge();
    }
    if (this.#indexNewRuns()) {
      return true;
    }
    const previousRow = this.#lastSeenRow;
    const [[lastRow] = []] = parseRows(this.#statements.lastRow.all());
    this.#lastSeenRow = Number(lastRow ?? 0);
    // Index only runs that existed at the previous step: most runs are updated soon after their start, and would have
    // to be indexed twice.
    const readyRow = Math.min(previousRow, this.#lastSeenRow);
    if (readyRow > this.#claimed) {
      await this.#writer.claimRuns(readyRow);
      this.#claimed = readyRow;
      return true;
    }
    return !this.#isPurged && this.#purge();
  }

  /** Truncates the write-ahead log of the index. */
  shortenLog(): void {
    this.#index.prepare("PRAGMA wal_checkpoint(TRUNCATE)").raw().all();
  }

  close(): void {
    this.#db.close();
    this.#index.close();
  }

  /** Indexes the changes of claimed runs, including their deletion. Returns whether there were any changes. */
  async #indexChanges(): Promise<boolean> {
    let lastSequence: number | undefined;
    const docs = new Map<number, string | undefined>();
    this.#read(() => {
      let chars = 0;
      for (const [seq, run] of parseRows(this.#statements.listChanges.all([maxStepRuns]))) {
        const row = Number(run);
        lastSequence = Number(seq);
        if (row <= this.#indexed && !docs.has(row)) {
          const [runRow] = parseRows(this.#statements.findRun.all([row]));
          const text = runRow === undefined ? undefined : this.#readText(runRow);
          docs.set(row, text);
          chars += text?.length ?? 0;
          if (chars >= maxStepChars) {
            break;
          }
        }
      }
    });
    if (lastSequence === undefined) {
      return false;
    }
    if (docs.size > 0) {
      this.#write(() => {
        for (const [row, text] of docs) {
          this.#statements.remove.run([row]);
          if (text !== undefined) {
            this.#statements.insert.run([row, text]);
          }
        }
        this.#statements.setPurged.run([0]);
      });
      this.#isPurged = false;
    }
    await this.#writer.deleteChanges(lastSequence);
    return true;
  }

  /** Indexes claimed runs that the index does not contain yet. */
  #indexNewRuns(): boolean {
    if (this.#indexed >= this.#claimed) {
      return false;
    }
    const docs: (readonly [row: number, text: string])[] = [];
    let lastIndexedRow = this.#claimed;
    this.#read(() => {
      let chars = 0;
      const rows = parseRows(
        this.#statements.listRuns.all([this.#indexed, this.#claimed, maxStepRuns]),
      );
      for (const [index, row] of rows.entries()) {
        const text = this.#readText(row);
        docs.push([Number(row[0]), text]);
        chars += text.length;
        const isLast = index + 1 === rows.length;
        if (chars >= maxStepChars || (isLast && rows.length === maxStepRuns)) {
          lastIndexedRow = isLast && rows.length < maxStepRuns ? this.#claimed : Number(row[0]);
          break;
        }
      }
    });
    this.#write(() => {
      for (const [row, text] of docs) {
        this.#statements.insert.run([row, text]);
      }
      this.#statements.setLastIndexedRow.run([lastIndexedRow]);
    });
    this.#indexed = lastIndexedRow;
    return true;
  }

  #readText([row, name, id]: readonly unknown[]): string {
    const [foundBodies = []] = this.#payloads.readMany([{ rowId: Number(row), id: String(id) }]);
    const bodies = foundBodies === damagedBodies ? [] : foundBodies;
    const payloads = bodies.map((body) => body.toString("utf8"));
    return toIndexedText(toBuffer(name).toString("utf8"), payloads);
  }

  /**
   * Reads within one transaction. It must be short, because the write-ahead log can't be reset while a transaction
   * reads it. Writing to the index takes longer, and happens outside of this transaction.
   */
  #read(read: () => void): void {
    this.#db.exec("BEGIN");
    try {
      read();
    } finally {
      this.#db.exec("COMMIT");
    }
  }

  #write(write: () => void): void {
    this.#index.exec("BEGIN");
    try {
      write();
      this.#index.exec("COMMIT");
    } finally {
      if (this.#index.inTransaction) {
        this.#index.exec("ROLLBACK");
      }
    }
  }

  /**
   * Rewrites the index without deleted entries, which FTS5 only marks as deleted. Returns whether another step is
   * needed.
   */
  #purge(): boolean {
    const changeCountBefore = this.#countChanges();
    // A negative number of pages begins a merge of the whole index; a positive number continues it.
    this.#statements.purge.run([this.#isPurging ? pagesPerPurge : -pagesPerPurge]);
    this.#isPurging = true;
    if (this.#countChanges() - changeCountBefore >= 2) {
      return true;
    }
    this.#isPurging = false;
    this.#isPurged = true;
    this.#statements.setPurged.run([1]);
    this.shortenLog();
    return false;
  }

  #countChanges(): number {
    return Number(parseRows(this.#statements.changeCount.all())[0]?.[0]);
  }
}
