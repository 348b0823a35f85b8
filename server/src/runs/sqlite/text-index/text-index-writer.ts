import type { Connection } from "../../../storage/sqlite/connection.ts";

/** Methods of the writer that the indexer thread may call. */
export type TextIndexMethod = "claim" | "settle";

/**
 * Records which runs the text index contains, and which of them have changed; see `tables/text-index-tables.ts`.
 */
export class TextIndexWriter {
  readonly #claim;
  readonly #settle;

  constructor(db: Connection) {
    this.#claim = db.prepare("UPDATE text_claim SET row = max(row, ?)");
    this.#settle = db.prepare("DELETE FROM text_changes WHERE seq <= ?");
  }

  /** From now on, changes of runs up to this row are recorded. */
  claim(row: number): void {
    this.#claim.run([row]);
  }

  /** The index contains the changes up to this one, so they are deleted. */
  settle(seq: number): void {
    this.#settle.run([seq]);
  }
}
