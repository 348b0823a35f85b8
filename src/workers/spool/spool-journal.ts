import { existsSync } from "node:fs";
import { join } from "node:path";
import type { StoredRecords } from "../../model/records/stored-records.ts";
import type { OpenSegment } from "./spool-segment.ts";

/** What a journal needs of its spool. */
export interface JournalHost {
  /** @throws the file system's error. */
  readonly open: () => OpenSegment;
  /** @throws the file system's error, or that the quota is used up. */
  readonly write: (segment: OpenSegment, record: Uint8Array) => void;
  /** Writes several at once. @throws as `write`. */
  readonly store: (segment: OpenSegment, records: StoredRecords) => void;
  /** The segment is part of what is spooled from here on. */
  readonly keep: (segment: OpenSegment) => void;
  readonly discard: (segment: OpenSegment) => void;
  readonly onError: (error: unknown) => void;
}

/**
 * One tape's records on disk while their outcome is not known: written before the tape is sent, so that
 * what a call returned from survives the process, or when a try of it failed. No method throws; a record that can't be written is in memory as without a journal.
 *
 * States: empty, then written; broken after a failed write. It ends with `keep` or `discard`.
 */
export class SpoolJournal {
  readonly #host: JournalHost;
  #segment: OpenSegment | undefined;
  #isBroken = false;

  constructor(host: JournalHost) {
    this.#host = host;
  }

  append(record: Uint8Array): void {
    this.#try((segment) => this.#host.write(segment, record));
  }

  store(records: StoredRecords): void {
    this.#try((segment) => this.#host.store(segment, records));
  }

  get isWhole(): boolean {
    return !this.#isBroken;
  }

  #try(write: (segment: OpenSegment) => void): void {
    if (this.#isBroken) {
      return;
    }
    try {
      this.#segment ??= this.#host.open();
      write(this.#segment);
    } catch (error) {
      this.#isBroken = true;
      this.#host.onError(error);
    }
  }

  /** The tape is cut. */
  seal(): void {
    this.#segment?.seal();
  }

  /** What became of the records is known. */
  discard(): void {
    if (this.#segment !== undefined) {
      this.#host.discard(this.#segment);
    }
  }

  /** Leaves the records on disk as spooled; false where not all `records` of them are there. */
  keep(records: number): boolean {
    const segment = this.#segment;
    if (this.#isBroken || segment?.records !== records) {
      return false;
    }
    if (!existsSync(join(segment.folder, segment.name))) {
      // The folder was removed.
      return false;
    }
    this.#host.keep(segment);
    return true;
  }
}
