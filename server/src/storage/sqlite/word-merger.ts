import { parseRows } from "./rows.ts";
import type { Connection } from "./connection.ts";

/** Number of pages that one step writes. A step takes a few tens of milliseconds, during which other writes wait. */
const pagesPerStep = 64;

/**
 * Merges the segments of the full-text index of examples. Deleting a row of the index only marks it as deleted; its
 * words stay in the database file until the segments that contain them are merged.
 */
export class WordMerger {
  readonly #merge;
  readonly #changes;
  #isFirst = true;

  constructor(db: Connection) {
    this.#merge = db.prepare("INSERT INTO example_texts (example_texts, rank) VALUES ('merge', ?)");
    this.#changes = db.prepare("SELECT total_changes()").raw();
  }

  /** Performs one step. Returns whether it was the last one. */
  runStep(): boolean {
    const changesBefore = this.#count();
    // A negative number begins a merge of all segments; a positive number continues it.
    this.#merge.run([this.#isFirst ? -pagesPerStep : pagesPerStep]);
    // The statement that requests the merge counts as one change itself.
    const isDone = this.#count() - changesBefore < 2;
    this.#isFirst = isDone;
    return isDone;
  }

  #count(): number {
    return Number(parseRows(this.#changes.all())[0]?.[0]);
  }
}
