import { setImmediate } from "node:timers/promises";
import type { Batcher } from "../tracing/queue/batcher.ts";
import { countRecords, copyUndeliveredRecords } from "../tracing/tape/tally.ts";
import type { Journal, Tape } from "../tracing/tape/tape.ts";
import type { Spool } from "../workers/spool/spool.ts";
import type { Delivery } from "./delivery.ts";

/** Options of {@link PendingStore}. */
export interface PendingStoreOptions {
  /** Creates the file that stores the records of one tape (the buffer of recorded runs) on disk. */
  readonly openJournal: () => Journal;
  /** Returns the tapes that workers are sending. */
  readonly listInFlight: () => ReadonlySet<Tape>;
  /** Returns the tapes that workers are sending and for which an attempt has failed. */
  readonly listFailing: () => ReadonlySet<Tape>;
  /** Returns the tapes that are still queued. */
  readonly listWaiting: () => readonly Tape[];
}

/**
 * Milliseconds from a failed attempt until its records are written to disk. If a second attempt
 * succeeds in that time, no write is needed.
 */
const writeDelayMs = 500;
/**
 * Approximate number of bytes that are written in one turn of the event loop. Writing them takes a few milliseconds.
 */
const bytesPerTurn = 4_194_304;

/**
 * While the server fails, copies the records that wait in memory to disk: one file for each tape, the buffer of
 * recorded runs. The records stay pending and are sent from memory. A file is deleted when the outcome of its records
 * is known, or kept if the client ends first. If the process is killed meanwhile, the next process sends the records.
 *
 * If every tape in flight has failed, the server is unavailable, and queued tapes are written as
 * well, twice a second. Without failures this costs nothing.
 */
export class PendingStore {
  readonly #options: PendingStoreOptions;
  #timer: NodeJS.Timeout | undefined;
  #hasEnded = false;

  /** Creates the store for a client's pending records; `undefined` if the client has no spool. */
  static create(
    spool: Pick<Spool, "createJournal"> | undefined,
    delivery: Pick<Delivery, "tapesInFlight" | "failingTapes">,
    batcher: Pick<Batcher, "waitingTapes">,
  ): PendingStore | undefined {
    return spool === undefined
      ? undefined
      : new PendingStore({
          openJournal: () => spool.createJournal(),
          listInFlight: () => delivery.tapesInFlight,
          listFailing: () => delivery.failingTapes,
          listWaiting: () => batcher.waitingTapes,
        });
  }

  constructor(options: PendingStoreOptions) {
    this.#options = options;
  }

  /**
   * Call it when an attempt to send a tape failed: after a short delay, the tapes that still fail are written to disk.
   */
  scheduleWrite(): void {
    if (this.#timer === undefined && !this.#hasEnded) {
      this.#timer = setTimeout(() => void this.#writeFailing(), writeDelayMs);
      // The timer is unref'd, because a process that ends writes the remaining records anyway.
      this.#timer.unref();
    }
  }

  /** Writes all pending records. Never rejects: the spool reports what can't be written. */
  writeAll(): Promise<void> {
    const { listInFlight, listWaiting } = this.#options;
    return this.#writeTapes(() => [...listInFlight(), ...listWaiting()]);
  }

  end(): void {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
  }

  async #writeFailing(): Promise<void> {
    const { listInFlight, listFailing, listWaiting } = this.#options;
    await this.#writeTapes(() => {
      const isServerUnavailable = listFailing().size === listInFlight().size;
      return isServerUnavailable ? [...listFailing(), ...listWaiting()] : [...listFailing()];
    });
    this.#timer = undefined;
    if (listFailing().size > 0) {
      this.scheduleWrite();
    }
  }

  /**
   * Writes the tapes that `listTapes` returns. `listTapes` is called again before each write, because a tape that was
   * delivered meanwhile is reused for other records.
   */
  async #writeTapes(listTapes: () => readonly Tape[]): Promise<void> {
    const triedTapes = new Set<Tape>();
    let writtenBytes = 0;
    while (!this.#hasEnded) {
      const nextTape = listTapes().find((tape) => !triedTapes.has(tape) && needsWrite(tape));
      if (nextTape === undefined) {
        return;
      }
      triedTapes.add(nextTape);
      writtenBytes += this.#writeTape(nextTape);
      if (writtenBytes >= bytesPerTurn) {
        writtenBytes = 0;
        await setImmediate();
      }
    }
  }

  /** Writes the records of a tape that are not on disk yet. Returns the number of bytes written. */
  #writeTape(tape: Tape): number {
    if (tape.journal?.isComplete === false) {
      // An earlier write failed, for example because the disk was full.
      tape.journal.discard();
      tape.journal = undefined;
      tape.journaledBytes = 0;
    }
    const isCopy = this.#options.listInFlight().has(tape);
    // A worker changes the tape that it is sending: it writes outcomes and masks texts. So the records of such a tape
    // are copied first.
    const body = isCopy
      ? copyUndeliveredRecords(tape, tape.journaledBytes)
      : tape.bytes.subarray(tape.journaledBytes, tape.usedBytes);
    tape.journaledBytes = tape.usedBytes;
    if (body.length > 0) {
      tape.journal ??= this.#options.openJournal();
      tape.journal.appendAll({ body, count: countRecords(body), isCopy });
      if (tape.cutAt > 0) {
        tape.journal.seal();
      }
    }
    return body.length;
  }
}

/**
 * Whether a tape has records that are not on disk. A tape that was read from the spool is on disk already.
 */
const needsWrite = (tape: Tape): boolean =>
  !tape.isReplayed && (tape.journaledBytes < tape.usedBytes || tape.journal?.isComplete === false);
