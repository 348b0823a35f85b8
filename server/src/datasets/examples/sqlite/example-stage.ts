import type { DatasetWriting } from "../../dataset-writing.ts";
import { stagedMicros } from "./example-table.ts";
import type { ExampleRow } from "./example-table.ts";
import { parseRows } from "../../../storage/sqlite/rows.ts";
import type { Connection } from "../../../storage/sqlite/connection.ts";

/** Rows that are published or taken back at once. */
const undoStep = 500;

/** Where in `settings` it is noted from which row on the database may hold staged rows. */
const setting = "staged_examples";

/** Keys of rows that were written behind one another. */
interface Range {
  readonly first: number;
  readonly last: number;
}

/** The first rows that a stage may have written. */
interface Start {
  readonly key: number;
  readonly blob: number;
}

/**
 * Rows of examples that are written before their version is: a row whose end lies before its beginning is in no
 * version. To publish them is one short step. What a server leaves behind that ends in between is erased when
 * the next one starts.
 */
export class ExampleStages {
  readonly #dependencies: DatasetWriting;
  readonly #statements: ReturnType<typeof prepareStatements>;
  readonly #open = new Set<ExampleStage>();

  constructor(dependencies: DatasetWriting) {
    this.#dependencies = dependencies;
    this.#statements = prepareStatements(dependencies.db);
    this.#eraseLeft();
  }

  begin(): ExampleStage {
    const { lastBlob, begin } = this.#statements;
    const blob = Number(parseRows(lastBlob.all())[0]?.[0]);
    const start = { key: this.#dependencies.table.nextKey(), blob };
    begin.run([JSON.stringify(start)]);
    const stage = new ExampleStage(this.#dependencies, this.#statements, {
      blob,
      onEnd: () => {
        this.#open.delete(stage);
        if (this.#open.size === 0) {
          this.#statements.end.run();
        }
      },
    });
    this.#open.add(stage);
    return stage;
  }

  #eraseLeft(): void {
    const [values] = parseRows(this.#statements.find.all());
    if (values !== undefined) {
      const { key, blob } = JSON.parse(String(values[0])) as Start;
      const range = [key, Number.MAX_SAFE_INTEGER];
      this.#dependencies.db.exec("BEGIN IMMEDIATE");
      this.#statements.eraseTexts.run(range);
      this.#statements.eraseBlobs.run([...range, blob]);
      this.#statements.eraseRows.run(range);
      this.#statements.end.run();
      this.#dependencies.db.exec("COMMIT");
    }
  }
}

/** The rows of one write: open -> published, or taken back. */
export class ExampleStage {
  readonly #dependencies: DatasetWriting;
  readonly #statements: ReturnType<typeof prepareStatements>;
  readonly #blob: number;
  readonly #onEnd: () => void;
  readonly #ranges: Range[] = [];
  #first: number | undefined;

  constructor(
    dependencies: DatasetWriting,
    statements: ReturnType<typeof prepareStatements>,
    { blob, onEnd }: { readonly blob: number; readonly onEnd: () => void },
  ) {
    this.#dependencies = dependencies;
    this.#statements = statements;
    this.#blob = blob;
    this.#onEnd = onEnd;
  }

  add(row: Omit<ExampleRow, "isStaged">): number {
    const key = this.#dependencies.table.insert({ ...row, isStaged: true });
    this.#first ??= key;
    return key;
  }

  /** Before others have their turn: what they write lies between these rows and the next ones. */
  pause(): void {
    if (this.#first !== undefined) {
      this.#dependencies.table.place();
      this.#ranges.push({ first: this.#first, last: this.#dependencies.table.nextKey() - 1 });
      this.#first = undefined;
    }
  }

  /** From now on they are so. What each replaces is ended by the caller, in the same slice. */
  publish(): void {
    for (const { first, last } of this.#ranges) {
      this.#statements.publish.run([first, last]);
    }
    this.#onEnd();
  }

  /** None of them was ever there. */
  *erase(): Generator<void, void> {
    for (const { first, last } of this.#ranges) {
      for (let from = first; from <= last; from += undoStep) {
        const range = [from, Math.min(last, from + undoStep - 1)];
        this.#statements.eraseTexts.run(range);
        this.#statements.eraseBlobs.run([...range, this.#blob]);
        this.#statements.eraseRows.run(range);
        yield;
      }
    }
    this.#onEnd();
  }
}

/** `?1` and `?2` are the keys between which rows are. */
const staged = `key BETWEEN ?1 AND ?2 AND to_us = ${stagedMicros}`;

const prepareStatements = (db: Connection) => ({
  lastBlob: db.prepare("SELECT coalesce(max(key), 0) FROM example_blobs").raw(),
  find: db.prepare(`SELECT value FROM settings WHERE key = '${setting}'`).raw(),
  // One that began earlier and is not at its end has the earlier rows.
  begin: db.prepare(`INSERT OR IGNORE INTO settings (key, value) VALUES ('${setting}', ?)`),
  end: db.prepare(`DELETE FROM settings WHERE key = '${setting}'`),
  publish: db.prepare(`UPDATE examples SET to_us = NULL WHERE ${staged}`),
  eraseTexts: db.prepare(
    `DELETE FROM example_texts WHERE rowid IN (SELECT key FROM examples WHERE ${staged})`,
  ),
  // A row that replaces another one may name files of that: they are older.
  eraseBlobs: db.prepare(
    `DELETE FROM example_blobs WHERE key > ?3 AND key IN (
       SELECT json_extract(a.value, '$.blob') FROM examples e, json_each(e.attachments) a WHERE ${staged.replaceAll("key ", "e.key ")})`,
  ),
  eraseRows: db.prepare(`DELETE FROM examples WHERE ${staged}`),
});
