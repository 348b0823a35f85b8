import type { StoredRecords } from "../../model/records/stored-records.ts";
import { headOffset, operationCode, recordHead } from "../../model/records/tape-format.ts";
import { CapacityExceeded } from "./capacity-exceeded.ts";

/** A record counts its bytes in 32 bits, and a tape holds a whole one. */
const largestTapeBytes = 0xffff_ffff;

/**
 * Gives a tape with room for `atLeast` bytes in place of the present one; throws {@link CapacityExceeded}. With
 * `isRest` the record needs no more than that.
 */
export type NextTape = (atLeast: number, isExact: boolean) => Tape;

/** Where the records of a tape are on disk before it is sent. No method throws. */
export interface Journal {
  /** One record, as it is on the tape. */
  append(record: Uint8Array): void;
  /** Several records at once, one after another as on the tape. */
  store(records: StoredRecords): void;
  /** Whether each record that it was given is on disk. */
  readonly isWhole: boolean;
  /** The tape is cut: no record follows. */
  seal(): void;
  /** What became of the records is known. */
  discard(): void;
  /** Leaves them there as spooled; false where not all `records` of them are. */
  keep(records: number): boolean;
}

/**
 * Records encoded into one shared buffer. While it is open the writer appends; once cut it never
 * changes, except that a worker writes each record's outcome into its head.
 */
export class Tape {
  readonly memory: SharedArrayBuffer;
  readonly bytes: Buffer;
  readonly view: DataView;
  /** Bytes written. */
  used = 0;
  records = 0;
  /** Those that are the start of a run. */
  starts = 0;
  /** `performance.now()` of the cut; 0 while open. */
  cutAt = 0;
  /** Its records come from a spool, which holds them until their outcome is known. */
  isReplayed = false;
  /** With `durability: "spool-first"`, and while its records wait for a server that fails. */
  journal: Journal | undefined;
  /** Bytes from its start that the journal was given. */
  stored = 0;

  constructor(sizeBytes: number) {
    this.memory = new SharedArrayBuffer(sizeBytes);
    this.bytes = Buffer.from(this.memory);
    this.view = new DataView(this.memory);
  }

  /** A tape of records that were written elsewhere. @throws RangeError where they are no records. */
  static of(body: Uint8Array): Tape {
    const tape = new Tape(body.length);
    tape.bytes.set(body);
    for (let at = 0; at < body.length;) {
      const length = tape.view.getUint32(at + headOffset.length, true);
      if (length < recordHead || at + length > body.length) {
        throw new RangeError(`No record at byte ${at} of a tape`);
      }
      tape.records += 1;
      tape.starts += tape.bytes[at + headOffset.operation] === operationCode.post ? 1 : 0;
      at += length;
    }
    tape.used = body.length;
    return tape;
  }

  get capacity(): number {
    return this.bytes.length;
  }

  /** Has its last record, of so many bytes, written to disk where there is a journal. */
  keep(length: number, journal: (() => Journal) | undefined): void {
    if (journal !== undefined) {
      this.journal ??= journal();
      this.journal.append(this.bytes.subarray(this.used - length, this.used));
      this.stored = this.used;
    }
  }

  /**
   * No record follows. A journal that holds only the first of them stays open: what is missing may be stored
   * while the tape waits.
   */
  cut(now: number): void {
    this.cutAt = now;
    if (this.stored === this.used) {
      this.journal?.seal();
    }
  }

  /** Makes it empty again. */
  reset(): void {
    this.used = 0;
    this.records = 0;
    this.starts = 0;
    this.cutAt = 0;
    this.journal = undefined;
    this.stored = 0;
  }
}

/**
 * Keeps tapes of the usual size for reuse, so that recording allocates nothing once warm: a new megabyte
 * costs 256 page faults, and one that is left to the garbage collector stays until two threads have
 * collected theirs.
 */
export class TapePool {
  readonly #tapeBytes: number;
  readonly #limit: number;
  readonly #free: Tape[] = [];
  /** The fewest tapes that were free since tapes were last released: so many were not needed. */
  #unneeded = 0;
  #releaseTimer: NodeJS.Timeout | undefined;

  /** Keeps `limit` unused tapes of `tapeBytes` each for good, and of more as many as traffic goes on to need. */
  constructor(tapeBytes: number, limit: number) {
    this.#tapeBytes = tapeBytes;
    this.#limit = limit;
  }

  /** An empty tape with room for `atLeast` bytes; throws {@link CapacityExceeded} where there is no such tape. */
  take(atLeast: number): Tape {
    if (atLeast > largestTapeBytes) {
      throw new CapacityExceeded();
    }
    if (atLeast > this.#tapeBytes) {
      return new Tape(atLeast);
    }
    const tape = this.#free.pop();
    this.#unneeded = Math.min(this.#unneeded, this.#free.length);
    return tape ?? new Tape(this.#tapeBytes);
  }

  /** Takes a tape back. One of an unusual size, or of a spool, is left to the garbage collector. */
  give(tape: Tape): void {
    if (tape.capacity !== this.#tapeBytes || tape.isReplayed) {
      return;
    }
    tape.reset();
    this.#free.push(tape);
    if (this.#free.length > this.#limit && this.#releaseTimer === undefined) {
      this.#releaseLater();
    }
  }

  /** Unref'd: releasing memory is no reason to keep the process alive. */
  #releaseLater(): void {
    this.#unneeded = this.#free.length;
    this.#releaseTimer = setTimeout(() => {
      this.#releaseTimer = undefined;
      const surplus = Math.min(this.#unneeded, this.#free.length - this.#limit);
      this.#free.splice(0, Math.max(0, surplus));
      if (this.#free.length > this.#limit) {
        this.#releaseLater();
      }
    }, keepMs).unref();
  }
}

/** Tapes that stay unused for this long are released; those that come back during it are counted the next time. */
const keepMs = 1_000;
