import type { DatasetWriteDependencies } from "./dataset-writing.ts";
import { stagedMicros } from "../example-queries.ts";
import type { NewRow } from "../example-rows.ts";
import { parseRows } from "../../../storage/sqlite/rows.ts";
import type { Connection } from "../../../storage/sqlite/connection.ts";

/** Rows that one slice erases. */
const eraseStep = 500;

/** The key in `settings` whose value is the first row that may be staged. */
const setting = "staged_examples";

/** A range of consecutive keys. */
interface Range {
  readonly first: number;
  readonly last: number;
}

/**
 * The first row, and the last attachment before the stage. Rows from `key` on and attachments after `blob` may be
 * staged.
 */
interface Start {
  readonly key: number;
  readonly blob: number;
}

/**
 * Creates stages. A staged row is written before its version exists: it ends before it begins, so it is in no
 * version, and publishing many rows takes one short step. Staged rows that remain after a crash are erased at the
 * next start.
 */
export class ExampleStages {
  readonly #dependencies: DatasetWriteDependencies;
  readonly #statements: ReturnType<typeof prepareStatements>;
  readonly #open = new Set<ExampleStage>();

  constructor(dependencies: DatasetWriteDependencies) {
    this.#dependencies = dependencies;
    this.#statements = prepareStatements(dependencies.db);
    this.#eraseRemaining();
  }

  begin(): ExampleStage {
    const { lastBlob, begin } = this.#statements;
    const blob = Number(parseRows(lastBlob.all())[0]?.[0]);
    const start = { key: this.#dependencies.table.lastKey + 1, blob };
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

  #eraseRemaining(): void {
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

/** The staged rows of one write. They are either published or erased. */
export class ExampleStage {
  readonly #dependencies: DatasetWriteDependencies;
  readonly #statements: ReturnType<typeof prepareStatements>;
  readonly #blob: number;
  readonly #onEnd: () => void;
  readonly #ranges: Range[] = [];
  #first: number | undefined;

  constructor(
    dependencies: DatasetWriteDependencies,
    statements: ReturnType<typeof prepareStatements>,
    { blob, onEnd }: { readonly blob: number; readonly onEnd: () => void },
  ) {
    this.#dependencies = dependencies;
    this.#statements = statements;
    this.#blob = blob;
    this.#onEnd = onEnd;
  }

  add(row: Omit<NewRow, "isStaged">): number {
    const key = this.#dependencies.table.insert({ ...row, isStaged: true });
    this.#first ??= key;
    return key;
  }

  /** Must be called before other writes run: their rows then lie between the ranges of this stage. */
  pause(): void {
    if (this.#first !== undefined) {
      this.#dependencies.table.indexNewIds();
      this.#ranges.push({ first: this.#first, last: this.#dependencies.table.lastKey });
      this.#first = undefined;
    }
  }

  /** Makes the rows valid. In the same slice the caller must end the rows that they replace. */
  publish(): void {
    for (const { first, last } of this.#ranges) {
      this.#statements.publish.run([first, last]);
    }
    this.#onEnd();
  }

  /** Erases the rows in slices. */
  *erase(): Generator<void, void> {
    for (const { first, last } of this.#ranges) {
      for (let from = first; from <= last; from += eraseStep) {
        const range = [from, Math.min(last, from + eraseStep - 1)];
        this.#statements.eraseTexts.run(range);
        this.#statements.eraseBlobs.run([...range, this.#blob]);
        this.#statements.eraseRows.run(range);
        yield;
      }
    }
    this.#onEnd();
  }
}

/** Condition for the staged rows with keys from `?1` to `?2`. */
const staged = `key BETWEEN ?1 AND ?2 AND to_us = ${stagedMicros}`;

const prepareStatements = (db: Connection) => ({
  lastBlob: db.prepare("SELECT coalesce(max(key), 0) FROM example_blobs").raw(),
  find: db.prepare(`SELECT value FROM settings WHERE key = '${setting}'`).raw(),
  // `OR IGNORE` keeps the earlier start of a stage that is still open.
  begin: db.prepare(`INSERT OR IGNORE INTO settings (key, value) VALUES ('${setting}', ?)`),
  end: db.prepare(`DELETE FROM settings WHERE key = '${setting}'`),
  publish: db.prepare(`UPDATE examples SET to_us = NULL WHERE ${staged}`),
  eraseTexts: db.prepare(
    `DELETE FROM example_texts WHERE rowid IN (SELECT key FROM examples WHERE ${staged})`,
  ),
  // A row that replaces another may refer to the older attachments of that row; those must stay.
  eraseBlobs: db.prepare(
    `DELETE FROM example_blobs WHERE key > ?3 AND key IN (
       SELECT json_extract(a.value, '$.blob') FROM examples e, json_each(e.attachments) a WHERE ${staged.replaceAll("key ", "e.key ")})`,
  ),
  eraseRows: db.prepare(`DELETE FROM examples WHERE ${staged}`),
});
