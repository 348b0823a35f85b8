import { parseRows } from "./rows.ts";
import type { Connection } from "./connection.ts";

/** Pages that one step writes: a few tens of milliseconds, in which other writes wait. */
const stepPages = 64;

/**
 * Takes words of deleted examples out of the index of words. To delete a row of it is to note that it is
 * gone; the words go when the parts of the index are merged into one.
 */
export class WordMerger {
  readonly #merge;
  readonly #changes;
  #isFirst = true;

  constructor(db: Connection) {
    this.#merge = db.prepare("INSERT INTO example_texts (example_texts, rank) VALUES ('merge', ?)");
    this.#changes = db.prepare("SELECT total_changes()").raw();
  }

  /** One step; gives whether it was the last. */
  step(): boolean {
    const before = this.#count();
    // A negative number begins a merge of all parts, a positive one goes on with it.
    this.#merge.run([this.#isFirst ? -stepPages : stepPages]);
    // The statement itself counts as a change.
    const isDone = this.#count() - before < 2;
    this.#isFirst = isDone;
    return isDone;
  }

  #count(): number {
    return Number(parseRows(this.#changes.all())[0]?.[0]);
  }
}
