import type { Connection } from "../../../storage/sqlite/connection.ts";

/** What the thread that fills the index asks of the writer. */
export type TextIndexMethod = "claim" | "settle";

/** Keeps what the text index and the database know of each other; see `tables/text-index.ts`. */
export class TextIndexWriter {
  readonly #claim;
  readonly #settle;

  constructor(db: Connection) {
    this.#claim = db.prepare("UPDATE text_claim SET row = max(row, ?)");
    this.#settle = db.prepare("DELETE FROM text_changes WHERE seq <= ?");
  }

  /** Changes of runs up to this row are noted from now on. */
  claim(row: number): void {
    this.#claim.run([row]);
  }

  /** Changes up to this one are in the index. */
  settle(seq: number): void {
    this.#settle.run([seq]);
  }
}
