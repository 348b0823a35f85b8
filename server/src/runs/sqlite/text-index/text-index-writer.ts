import type { Connection } from "../../../storage/sqlite/connection.ts";

/** Methods of the writer thread that the thread of the text index may call. */
export type TextIndexMethod = keyof TextIndexWriter;

/**
 * Records which runs the text index may contain, and which of them have changed; see `tables/text-index-tables.ts`.
 */
export class TextIndexWriter {
  readonly #claimRuns;
  readonly #deleteChanges;

  constructor(db: Connection) {
    this.#claimRuns = db.prepare("UPDATE text_claim SET row = max(row, ?)");
    this.#deleteChanges = db.prepare("DELETE FROM text_changes WHERE seq <= ?");
  }

  /** Claims the runs up to this row for the index: from now on, changes of these runs are recorded. */
  claimRuns(row: number): void {
    this.#claimRuns.run([row]);
  }

  /** Deletes the records of changes up to this one, because the index contains them now. */
  deleteChanges(seq: number): void {
    this.#deleteChanges.run([seq]);
  }
}
