import { existsSync } from "node:fs";
import { join } from "node:path";
import type { StoredRecords } from "../../model/records/stored-records.ts";
import type { OpenSegment } from "./spool-segment.ts";

/** The functions of the spool that a journal uses. */
export interface JournalFunctions {
  /**
   * Creates a segment.
   *
   * @throws the file system's error.
   */
  readonly createSegment: () => OpenSegment;
  /**
   * Writes one record.
   *
   * @throws the file system's error, or an error if the quota is exceeded.
   */
  readonly writeRecord: (segment: OpenSegment, record: Uint8Array) => void;
  /**
   * Writes several records at once.
   *
   * @throws the same errors as {@link JournalFunctions.writeRecord}.
   */
  readonly writeRecords: (segment: OpenSegment, records: StoredRecords) => void;
  /** Keeps the segment in the spool, so that its records are sent later. */
  readonly keepSegment: (segment: OpenSegment) => void;
  readonly deleteSegment: (segment: OpenSegment) => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Keeps the records of one tape, which is a buffer of recorded runs, on disk while it is not known
 * whether they are delivered. The records are written either before the tape is sent, so that a
 * record survives the process once the call that recorded it returned, or when a first attempt to
 * send failed. No method throws. A record that can't be written is still in memory, as without a
 * journal.
 *
 * A journal is empty until its first write and broken after a failed one. It ends with `keepSpooled` or `discard`.
 */
export class SpoolJournal {
  readonly #functions: JournalFunctions;
  #segment: OpenSegment | undefined;
  #isBroken = false;

  constructor(functions: JournalFunctions) {
    this.#functions = functions;
  }

  /** Writes one record. */
  append(record: Uint8Array): void {
    this.#tryWrite((segment) => this.#functions.writeRecord(segment, record));
  }

  /** Writes several records at once. */
  appendAll(records: StoredRecords): void {
    this.#tryWrite((segment) => this.#functions.writeRecords(segment, records));
  }

  /** Whether every write so far succeeded. */
  get isComplete(): boolean {
    return !this.#isBroken;
  }

  #tryWrite(write: (segment: OpenSegment) => void): void {
    if (this.#isBroken) {
      return;
    }
    try {
      this.#segment ??= this.#functions.createSegment();
      write(this.#segment);
    } catch (error) {
      this.#isBroken = true;
      this.#functions.onError(error);
    }
  }

  /** Completes the journal: no more records are added to the tape. */
  seal(): void {
    this.#segment?.seal();
  }

  /** Deletes the records from disk. Call it when none of them is to be sent from this journal any more. */
  discard(): void {
    if (this.#segment !== undefined) {
      this.#functions.deleteSegment(this.#segment);
    }
  }

  /**
   * Leaves the records on disk in the spool, so that they are sent later. `records` is the number of records that are
   * still to be sent. Returns false unless the segment contains exactly that many.
   */
  keepSpooled(records: number): boolean {
    const segment = this.#segment;
    if (this.#isBroken || segment?.recordCount !== records) {
      return false;
    }
    if (!existsSync(join(segment.folder, segment.name))) {
      // The folder was deleted by another process.
      return false;
    }
    this.#functions.keepSegment(segment);
    return true;
  }
}
