import { parseRows, wholeText } from "../../../storage/sqlite/rows.ts";
import { openReader } from "../../../storage/sqlite/open-database.ts";
import { openDatabase } from "../../../storage/sqlite/connection.ts";
import type { Connection } from "../../../storage/sqlite/connection.ts";
import { textIndexPath } from "./text-index.ts";
import { toIndexedText } from "./trigrams.ts";
import { damagedBodies, PayloadReader, toBuffer } from "../payload-reader.ts";

/** Characters that one step takes in, and runs: some tens of milliseconds. */
const stepChars = 400_000;
const stepRuns = 1_000;
/** Pages that one step of the purge rewrites. */
const purgePages = 200;

/** What the indexer asks of the writer. */
export interface ClaimsAndChanges {
  claim(row: number): Promise<void>;
  settle(seq: number): Promise<void>;
}

/** Takes runs into the text index, a step at a time. */
export class TextIndexer {
  readonly #db: Connection;
  readonly #index: Connection;
  readonly #payloads: PayloadReader;
  readonly #writer: ClaimsAndChanges;
  readonly #statements;
  #claimed: number;
  #indexed: number;
  #isPurged: boolean;
  /** The last row of runs at the step before: what came since may still be patched soon. */
  #settled = 0;

  constructor(databasePath: string, writer: ClaimsAndChanges) {
    this.#writer = writer;
    this.#db = openReader(databasePath);
    this.#index = openDatabase(textIndexPath(databasePath));
    this.#index.exec("PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON;");
    this.#payloads = new PayloadReader(this.#db);
    this.#statements = {
      lastRow: this.#db.prepare("SELECT max(rowid) FROM runs").raw(),
      listRuns: this.#db
        .prepare(
          `SELECT rowid, ${wholeText("name")}, id FROM runs WHERE rowid > ? AND rowid <= ? ORDER BY rowid LIMIT ?`,
        )
        .raw(),
      findRun: this.#db
        .prepare(`SELECT rowid, ${wholeText("name")}, id FROM runs WHERE rowid = ?`)
        .raw(),
      listChanges: this.#db.prepare("SELECT seq, run FROM text_changes ORDER BY seq LIMIT ?").raw(),
      insert: this.#index.prepare("INSERT INTO docs (rowid, text) VALUES (?, ?)"),
      remove: this.#index.prepare("DELETE FROM docs WHERE rowid = ?"),
      advance: this.#index.prepare("UPDATE state SET indexed = ?"),
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

  /** Takes in some of what is new or has changed; whether more is to be done now. */
  async step({ takesNew = true }: { readonly takesNew?: boolean } = {}): Promise<boolean> {
    if (await this.#takeChanges()) {
      return true;
    }
    if (!takesNew) {
      return !this.#isPurged && this.#purge();
    }
    if (this.#takeNew()) {
      return true;
    }
    const before = this.#settled;
    const [[last] = []] = parseRows(this.#statements.lastRow.all());
    this.#settled = Number(last ?? 0);
    // Only what was there a step ago: a run is mostly patched soon, and would be taken in twice.
    const ready = Math.min(before, this.#settled);
    if (ready > this.#claimed) {
      await this.#writer.claim(ready);
      this.#claimed = ready;
      return true;
    }
    return !this.#isPurged && this.#purge();
  }

  /** Gives back the room that its log has. */
  shortenLog(): void {
    this.#index.prepare("PRAGMA wal_checkpoint(TRUNCATE)").raw().all();
  }

  close(): void {
    this.#db.close();
    this.#index.close();
  }

  /** Runs that were changed or deleted after they were claimed. */
  async #takeChanges(): Promise<boolean> {
    let last: number | undefined;
    const docs = new Map<number, string | undefined>();
    this.#read(() => {
      let chars = 0;
      for (const [seq, run] of parseRows(this.#statements.listChanges.all([stepRuns]))) {
        const row = Number(run);
        last = Number(seq);
        if (row <= this.#indexed && !docs.has(row)) {
          const [found] = parseRows(this.#statements.findRun.all([row]));
          const text = found === undefined ? undefined : this.#textOf(found);
          docs.set(row, text);
          chars += text?.length ?? 0;
          if (chars >= stepChars) {
            break;
          }
        }
      }
    });
    if (last === undefined) {
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
    await this.#writer.settle(last);
    return true;
  }

  /** Claimed runs that were never taken in. */
  #takeNew(): boolean {
    if (this.#indexed >= this.#claimed) {
      return false;
    }
    const docs: (readonly [row: number, text: string])[] = [];
    let indexed = this.#claimed;
    this.#read(() => {
      let chars = 0;
      const rows = parseRows(
        this.#statements.listRuns.all([this.#indexed, this.#claimed, stepRuns]),
      );
      for (const [at, row] of rows.entries()) {
        const text = this.#textOf(row);
        docs.push([Number(row[0]), text]);
        chars += text.length;
        const isLast = at + 1 === rows.length;
        if (chars >= stepChars || (isLast && rows.length === stepRuns)) {
          indexed = isLast && rows.length < stepRuns ? this.#claimed : Number(row[0]);
          break;
        }
      }
    });
    this.#write(() => {
      for (const [row, text] of docs) {
        this.#statements.insert.run([row, text]);
      }
      this.#statements.advance.run([indexed]);
    });
    this.#indexed = indexed;
    return true;
  }

  #textOf([row, name, id]: readonly unknown[]): string {
    const [found = []] = this.#payloads.readMany([{ rowId: Number(row), id: String(id) }]);
    const bodies = found === damagedBodies ? [] : found;
    const payloads = bodies.map((body) => body.toString("utf8"));
    return toIndexedText(toBuffer(name).toString("utf8"), payloads);
  }

  /** All of one state. Short, since the log can't begin anew while somebody reads; taking in what was read is not. */
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

  /** Rewrites the index without what was deleted, which FTS5 else only marks; whether more is to be done. */
  #purge(): boolean {
    const before = this.#changes();
    // The first of them begins a merge of everything, the further ones go on with it.
    this.#statements.purge.run([this.#isPurging ? purgePages : -purgePages]);
    this.#isPurging = true;
    if (this.#changes() - before >= 2) {
      return true;
    }
    this.#isPurging = false;
    this.#isPurged = true;
    this.#statements.setPurged.run([1]);
    this.shortenLog();
    return false;
  }

  #isPurging = false;

  #changes(): number {
    return Number(parseRows(this.#statements.changeCount.all())[0]?.[0]);
  }
}
