import type { DatasetWriteDependencies } from "./dataset-writing.ts";
import { stagedMicros } from "../example-queries.ts";
import type { NewExampleRow } from "../example-rows.ts";
import { parseRows } from "../../../storage/sqlite/rows.ts";
import type { Connection } from "../../../storage/sqlite/connection.ts";

/** Maximum number of rows that one slice of a long write erases. */
const maxRowsPerEraseSlice = 500;

/** The key in the table `settings` under which the {@link StageStart} is stored while a stage is open. */
const stageSetting = "staged_examples";

/** Consecutive keys of rows, including both ends. */
interface KeyRange {
  readonly first: number;
  readonly last: number;
}

/** Where a stage begins. A stage is the rows that one write has inserted but not published yet. */
interface StageStart {
  /** Key of the first row that may be staged. */
  readonly key: number;
  /** Key of the last attachment that existed before the stage. */
  readonly blob: number;
}

/**
 * Creates stages. A staged row is written before its version exists: its `to_us` is before its `from_us`, so it is in
 * no version. Publishing many staged rows then takes one short step. Staged rows that remain after a crash are erased
 * at the next start.
 */
export class ExampleStages {
  readonly #dependencies: DatasetWriteDependencies;
  readonly #statements: ReturnType<typeof prepareStatements>;
  readonly #openStages = new Set<ExampleStage>();

  constructor(dependencies: DatasetWriteDependencies) {
    this.#dependencies = dependencies;
    this.#statements = prepareStatements(dependencies.db);
    this.#eraseLeftovers();
  }

  begin(): ExampleStage {
    const { lastBlob, begin } = this.#statements;
    const lastBlobKey = Number(parseRows(lastBlob.all())[0]?.[0]);
    const start = { key: this.#dependencies.exampleRows.lastKey + 1, blob: lastBlobKey };
    begin.run([JSON.stringify(start)]);
    const stage = new ExampleStage(this.#dependencies, this.#statements, {
      blob: lastBlobKey,
      onEnd: () => {
        this.#openStages.delete(stage);
        if (this.#openStages.size === 0) {
          this.#statements.end.run();
        }
      },
    });
    this.#openStages.add(stage);
    return stage;
  }

  #eraseLeftovers(): void {
    const [values] = parseRows(this.#statements.find.all());
    if (values !== undefined) {
      const { key, blob } = JSON.parse(String(values[0])) as StageStart;
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
  readonly #lastBlobKey: number;
  readonly #onEnd: () => void;
  readonly #pausedRanges: KeyRange[] = [];
  #firstKey: number | undefined;

  constructor(
    dependencies: DatasetWriteDependencies,
    statements: ReturnType<typeof prepareStatements>,
    { blob, onEnd }: { readonly blob: number; readonly onEnd: () => void },
  ) {
    this.#dependencies = dependencies;
    this.#statements = statements;
    this.#lastBlobKey = blob;
    this.#onEnd = onEnd;
  }

  add(row: Omit<NewExampleRow, "isStaged">): number {
    const key = this.#dependencies.exampleRows.insert({ ...row, isStaged: true });
    this.#firstKey ??= key;
    return key;
  }

  /** Must be called before other writes run, because the rows that they insert do not belong to this stage. */
  pause(): void {
    if (this.#firstKey !== undefined) {
      this.#dependencies.exampleRows.indexNewIds();
      this.#pausedRanges.push({
        first: this.#firstKey,
        last: this.#dependencies.exampleRows.lastKey,
      });
      this.#firstKey = undefined;
    }
  }

  /**
   * Makes the rows part of their version. In the same slice the caller must end the rows that the published rows
   * replace.
   */
  publish(): void {
    for (const { first, last } of this.#pausedRanges) {
      this.#statements.publish.run([first, last]);
    }
    this.#onEnd();
  }

  /** Erases the staged rows in slices, after the write has failed. */
  *erase(): Generator<void, void> {
    for (const { first, last } of this.#pausedRanges) {
      for (let rangeStart = first; rangeStart <= last; rangeStart += maxRowsPerEraseSlice) {
        const range = [rangeStart, Math.min(last, rangeStart + maxRowsPerEraseSlice - 1)];
        this.#statements.eraseTexts.run(range);
        this.#statements.eraseBlobs.run([...range, this.#lastBlobKey]);
        this.#statements.eraseRows.run(range);
        yield;
      }
    }
    this.#onEnd();
  }
}

/** SQL condition for the staged rows with keys from `?1` to `?2`. */
const stagedCondition = `key BETWEEN ?1 AND ?2 AND to_us = ${stagedMicros}`;

const prepareStatements = (db: Connection) => ({
  lastBlob: db.prepare("SELECT coalesce(max(key), 0) FROM example_blobs").raw(),
  find: db.prepare(`SELECT value FROM settings WHERE key = '${stageSetting}'`).raw(),
  // `OR IGNORE`: if another stage is still open, its earlier start must stay.
  begin: db.prepare(`INSERT OR IGNORE INTO settings (key, value) VALUES ('${stageSetting}', ?)`),
  end: db.prepare(`DELETE FROM settings WHERE key = '${stageSetting}'`),
  publish: db.prepare(`UPDATE examples SET to_us = NULL WHERE ${stagedCondition}`),
  eraseTexts: db.prepare(
    `DELETE FROM example_texts WHERE rowid IN (SELECT key FROM examples WHERE ${stagedCondition})`,
  ),
  // A staged row may refer to older attachments of the row that it replaces. They must stay.
  eraseBlobs: db.prepare(
    `DELETE FROM example_blobs WHERE key > ?3 AND key IN (
       SELECT json_extract(a.value, '$.blob') FROM examples e, json_each(e.attachments) a WHERE ${stagedCondition.replaceAll("key ", "e.key ")})`,
  ),
  eraseRows: db.prepare(`DELETE FROM examples WHERE ${stagedCondition}`),
});
