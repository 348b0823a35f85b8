import { setImmediate } from "node:timers/promises";
import type { Batcher } from "../tracing/queue/batcher.ts";
import { countRecords, undeliveredBytes } from "../tracing/tape/tally.ts";
import type { Journal, Tape } from "../tracing/tape/tape.ts";
import type { Spool } from "../workers/spool/spool.ts";
import type { Delivery } from "./delivery.ts";

export interface PendingStoreOptions {
  readonly journal: () => Journal;
  /** Tapes that workers have. */
  readonly inFlight: () => ReadonlySet<Tape>;
  /** Those of them of which a try failed. */
  readonly failing: () => ReadonlySet<Tape>;
  /** Tapes that no worker has. */
  readonly waiting: () => readonly Tape[];
}

/** From a failed try until its records are written: a second try that succeeds needs no disk. */
const delayMs = 500;
/** Written in one turn of the event loop, about: a few milliseconds. */
const turnBytes = 4_194_304;

/**
 * Writes to disk what waits in memory for a server that fails. The records stay pending and are sent from
 * memory; the file goes when their outcome is known, or is kept where they are given up. A process that
 * is killed meanwhile leaves them to the next one.
 *
 * While every tape under way has failed, the server is away, and what waits behind them is written as
 * well, twice a second. Where nothing fails this costs nothing.
 */
export class PendingStore {
  readonly #options: PendingStoreOptions;
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  /** For what a client has pending; `undefined` where it has no spool. */
  static of(
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

  /** A try of a tape failed: what is still failing in a moment is written then. */
  noteFailure(): void {
    if (this.#timer === undefined && !this.#ended) {
      this.#timer = setTimeout(() => void this.#run(), delayMs);
      // A process that ends writes what is left.
      this.#timer.unref();
    }
  }

  /** Writes all that is pending. Never rejects: the spool reports what can't be written. */
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
      this.noteFailure();
    }
  }

  /** Asks anew for the tapes after each turn: one that was delivered meanwhile holds other records now. */
  async #store(tapes: () => readonly Tape[]): Promise<void> {
    const tried = new Set<Tape>();
    let bytes = 0;
    while (!this.#ended) {
      const next = tapes().find((tape) => !tried.has(tape) && isToStore(tape));
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

  /** Answers how many bytes were written. */
  #storeTape(tape: Tape): number {
    if (tape.journal?.isWhole === false) {
      // An earlier write failed, as on a full disk.
      tape.journal.discard();
      tape.journal = undefined;
      tape.stored = 0;
    }
    const isCopy = this.#options.inFlight().has(tape);
    // A worker writes outcomes into its tape, and masks it: what it has is copied first.
    const body = isCopy
      ? undeliveredBytes(tape, tape.stored)
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

/** What a spool holds already needs no second place there. */
const isToStore = (tape: Tape): boolean =>
  !tape.isReplayed && (tape.stored < tape.used || tape.journal?.isWhole === false);
