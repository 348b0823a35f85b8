import { setImmediate } from "node:timers/promises";
import type { Batcher } from "../tracing/queue/batcher.ts";
import { countRecords, copyUndeliveredRecords } from "../tracing/tape/tally.ts";
import type { Journal, Tape } from "../tracing/tape/tape.ts";
import type { Spool } from "../workers/spool/spool.ts";
import type { Delivery } from "./delivery.ts";

export interface PendingStoreOptions {
  /** Creates a journal for a tape. */
  readonly journal: () => Journal;
  /** Tapes that workers are sending. */
  readonly inFlight: () => ReadonlySet<Tape>;
  /** Tapes in flight for which an attempt failed. */
  readonly failing: () => ReadonlySet<Tape>;
  /** Tapes that are still queued. */
  readonly waiting: () => readonly Tape[];
}

/**
 * Milliseconds from a failed attempt until its records are written to disk. If a second attempt
 * succeeds in that time, no write is needed.
 */
const delayMs = 500;
/**
 * Approximate bytes that are written in one turn of the event loop, which takes a few milliseconds.
 */
const turnBytes = 4_194_304;

/**
 * Writes records that wait in memory for a failing server to disk. They stay pending and are sent
 * from memory. The file is deleted when their outcome is known, or kept if the client ends first.
 * If the process is killed meanwhile, the next process sends them.
 *
 * If every tape in flight has failed, the server is unavailable, and queued tapes are written as
 * well, twice a second. Without failures this costs nothing.
 */
export class PendingStore {
  readonly #options: PendingStoreOptions;
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  /** Creates the store for a client's pending records; `undefined` if it has no spool. */
  static create(
    spool: Pick<Spool, "journal"> | undefined,
    delivery: Pick<Delivery, "inFlight" | "failing">,
    batcher: Pick<Batcher, "waitingTapes">,
  ): PendingStore | undefined {
    return spool === undefined
      ? undefined
      : new PendingStore({
          journal: () => spool.journal(),
          inFlight: () => delivery.inFlight,
          failing: () => delivery.failing,
          waiting: () => batcher.waitingTapes,
        });
  }

  constructor(options: PendingStoreOptions) {
    this.#options = options;
  }

  /**
   * Call it when an attempt to send a tape failed: tapes that still fail after a short delay are
   * written.
   */
  scheduleWrite(): void {
    if (this.#timer === undefined && !this.#ended) {
      this.#timer = setTimeout(() => void this.#run(), delayMs);
      // Unref'd, because a process that ends writes the remaining records anyway.
      this.#timer.unref();
    }
  }

  /** Writes all pending records. Never rejects: the spool reports what can't be written. */
  storeAll(): Promise<void> {
    const { inFlight, waiting } = this.#options;
    return this.#store(() => [...inFlight(), ...waiting()]);
  }

  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
  }

  async #run(): Promise<void> {
    const { inFlight, failing, waiting } = this.#options;
    await this.#store(() => {
      const isAway = failing().size === inFlight().size;
      return isAway ? [...failing(), ...waiting()] : [...failing()];
    });
    this.#timer = undefined;
    if (failing().size > 0) {
      this.scheduleWrite();
    }
  }

  /**
   * Requests the tapes again after each turn: a tape that was delivered meanwhile contains other
   * records.
   */
  async #store(tapes: () => readonly Tape[]): Promise<void> {
    const tried = new Set<Tape>();
    let bytes = 0;
    while (!this.#ended) {
      const next = tapes().find((tape) => !tried.has(tape) && needsWrite(tape));
      if (next === undefined) {
        return;
      }
      tried.add(next);
      bytes += this.#storeTape(next);
      if (bytes >= turnBytes) {
        bytes = 0;
        await setImmediate();
      }
    }
  }

  /** Writes the unwritten records of a tape and returns their number of bytes. */
  #storeTape(tape: Tape): number {
    if (tape.journal?.isWhole === false) {
      // An earlier write failed, for example because the disk was full.
      tape.journal.discard();
      tape.journal = undefined;
      tape.stored = 0;
    }
    const isCopy = this.#options.inFlight().has(tape);
    // A worker writes outcomes into its tape and masks it. So the records that a worker has are
    // copied first.
    const body = isCopy
      ? copyUndeliveredRecords(tape, tape.stored)
      : tape.bytes.subarray(tape.stored, tape.used);
    tape.stored = tape.used;
    if (body.length > 0) {
      tape.journal ??= this.#options.journal();
      tape.journal.store({ body, count: countRecords(body), isCopy });
      if (tape.cutAt > 0) {
        tape.journal.seal();
      }
    }
    return body.length;
  }
}

/**
 * Whether a tape has records that are not on disk. Tapes that were read from the spool are there
 * already.
 */
const needsWrite = (tape: Tape): boolean =>
  !tape.isReplayed && (tape.stored < tape.used || tape.journal?.isWhole === false);
