import type { StoredRecords } from "../../model/records/stored-records.ts";
import { headOffset, operationCode, recordHeadBytes } from "../../model/records/tape-format.ts";
import { CapacityExceeded } from "./capacity-exceeded.ts";

/**
 * Size of the largest tape, a buffer of records, in bytes. A record's length is a 32-bit number, and a record must fit
 * on one tape.
 */
const maxTapeBytes = 0xffff_ffff;

/**
 * Called when a record does not fit on its tape. Returns a tape with capacity for `minBytes` bytes, to which the record
 * is moved; throws {@link CapacityExceeded} if there is none. `isExact` states that the record will not grow beyond
 * `minBytes`.
 */
export type ProvideTape = (minBytes: number, isExact: boolean) => Tape;

/** The file that holds the records of a tape on disk before they are delivered. No method throws. */
export interface Journal {
  /** Appends one record, in the format of the tape. */
  append(record: Uint8Array): void;
  /** Appends several records at once, in the format of the tape. */
  appendAll(records: StoredRecords): void;
  /** Whether every record that this journal received is on disk. */
  readonly isComplete: boolean;
  /** Completes the journal: its tape gets no more records. */
  seal(): void;
  /** Removes the records from disk, because their outcome is known. */
  discard(): void;
  /**
   * Leaves the records on disk, so that they are sent later. Returns false unless the journal holds exactly `records`
   * records on disk.
   */
  keepSpooled(records: number): boolean;
}

/**
 * A tape: a shared buffer with encoded records. A writer appends to it while it is open. A tape that is cut gets no
 * more records. After that its bytes change only where a worker masks texts, and where the outcome of a record is
 * written into the record's head, the fixed bytes at its start.
 */
export class Tape {
  readonly memory: SharedArrayBuffer;
  readonly bytes: Buffer;
  readonly view: DataView;
  /** Number of bytes that are written to the tape. */
  usedBytes = 0;
  /** Number of complete records on the tape. */
  records = 0;
  /** Number of records that are the start of a run. */
  starts = 0;
  /** Time of the cut, from `performance.now()`; 0 while the tape is open. */
  cutAt = 0;
  /** Whether the records were read from the spool. The spool keeps them until their outcome is known. */
  isReplayed = false;
  /**
   * The file on disk that holds the tape's records. Present with `durability: "spool-first"`, and while the records
   * wait for a server that does not respond.
   */
  journal: Journal | undefined;
  /** Number of bytes from the tape's start that were written to the journal. */
  journaledBytes = 0;

  constructor(sizeBytes: number) {
    this.memory = new SharedArrayBuffer(sizeBytes);
    this.bytes = Buffer.from(this.memory);
    this.view = new DataView(this.memory);
  }

  /** Creates a tape from existing records. @throws RangeError the bytes are not valid records. */
  static fromRecords(body: Uint8Array): Tape {
    const tape = new Tape(body.length);
    tape.bytes.set(body);
    for (let offset = 0; offset < body.length;) {
      const length = tape.view.getUint32(offset + headOffset.length, true);
      if (length < recordHeadBytes || offset + length > body.length) {
        throw new RangeError(`Invalid record at byte ${offset} of a tape`);
      }
      tape.records += 1;
      tape.starts += tape.bytes[offset + headOffset.operation] === operationCode.post ? 1 : 0;
      offset += length;
    }
    tape.usedBytes = body.length;
    return tape;
  }

  get capacity(): number {
    return this.bytes.length;
  }

  /**
   * Writes the next `length` bytes after the used ones to the journal: `count` complete records that are not part of
   * the tape yet.
   */
  writeToJournal(length: number, count: number, openJournal: () => Journal): void {
    const end = this.usedBytes + length;
    const body = this.bytes.subarray(this.usedBytes, end);
    this.journal ??= openJournal();
    if (count === 1) {
      this.journal.append(body);
    } else {
      this.journal.appendAll({ body, count, isCopy: false });
    }
    this.journaledBytes = end;
  }

  /**
   * Completes the journal of a tape that was cut. A journal that does not hold all records of the tape stays open,
   * because the missing records can still be written to it while the tape waits.
   */
  sealJournal(): void {
    if (this.journaledBytes === this.usedBytes) {
      this.journal?.seal();
    }
  }

  /** Empties the tape for reuse. */
  reset(): void {
    this.usedBytes = 0;
    this.records = 0;
    this.starts = 0;
    this.cutAt = 0;
    this.journal = undefined;
    this.journaledBytes = 0;
  }
}

/**
 * Keeps tapes (shared buffers) of the usual size for reuse, so that recording allocates nothing once the pool has
 * enough tapes. A new tape is expensive: each megabyte costs 256 page faults, and shared memory is freed only after the
 * garbage collectors of the main thread and of the worker have run.
 */
export class TapePool {
  readonly #tapeBytes: number;
  readonly #limit: number;
  readonly #freeTapes: Tape[] = [];
  /** The smallest number of free tapes since the release timer was set. That many tapes were not needed. */
  #minFreeTapes = 0;
  #releaseTimer: NodeJS.Timeout | undefined;

  /**
   * Always keeps up to `limit` unused tapes of `tapeBytes` each. Further unused tapes are kept only while traffic needs
   * them.
   */
  constructor(tapeBytes: number, limit: number) {
    this.#tapeBytes = tapeBytes;
    this.#limit = limit;
  }

  /**
   * Returns an empty tape with capacity for `minBytes` bytes; throws {@link CapacityExceeded} if no tape can be that
   * large.
   */
  take(minBytes: number): Tape {
    if (minBytes > maxTapeBytes) {
      throw new CapacityExceeded();
    }
    if (minBytes > this.#tapeBytes) {
      return new Tape(minBytes);
    }
    const tape = this.#freeTapes.pop();
    this.#minFreeTapes = Math.min(this.#minFreeTapes, this.#freeTapes.length);
    return tape ?? new Tape(this.#tapeBytes);
  }

  /** Returns a tape to the pool. A tape of another size, or one from the spool, is left to the garbage collector. */
  recycle(tape: Tape): void {
    if (tape.capacity === this.#tapeBytes && !tape.isReplayed) {
      tape.reset();
      this.#freeTapes.push(tape);
    }
  }

  /**
   * Returns a tape to the pool as {@link recycle} does, and releases unneeded tapes after a while. A call that records
   * a run must not call this, because it sets a timer.
   */
  release(tape: Tape): void {
    this.recycle(tape);
    if (this.#freeTapes.length > this.#limit && this.#releaseTimer === undefined) {
      this.#releaseLater();
    }
  }

  /** Schedules the release of unneeded tapes. The timer is unref'd: it must not keep the process alive. */
  #releaseLater(): void {
    this.#minFreeTapes = this.#freeTapes.length;
    this.#releaseTimer = setTimeout(() => {
      this.#releaseTimer = undefined;
      const surplus = Math.min(this.#minFreeTapes, this.#freeTapes.length - this.#limit);
      this.#freeTapes.splice(0, Math.max(0, surplus));
      if (this.#freeTapes.length > this.#limit) {
        this.#releaseLater();
      }
    }, releaseDelayMs).unref();
  }
}

/** Surplus tapes that stay unused for this many milliseconds are released. */
const releaseDelayMs = 1_000;
