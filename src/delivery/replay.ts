import { Deferred } from "../model/deferred.ts";
import type { Ledger } from "../tracing/queue/ledger.ts";
import type { TapeResult } from "../tracing/queue/shipment.ts";
import { copyPendingRecords } from "../tracing/tape/tally.ts";
import { Tape } from "../tracing/tape/tape.ts";
import type { DeadLetters } from "../workers/spool/dead-letters.ts";
import type { Spool, SpooledTape } from "../workers/spool/spool.ts";
import type { Reporter } from "./reporter.ts";

/** Options of {@link Replay}. */
export interface ReplayOptions {
  readonly spool: Spool;
  readonly ledger: Ledger;
  readonly reporter: Reporter;
  readonly deadLetters: DeadLetters;
  readonly bytesPerSecond: number;
  /**
   * Adds a tape (a buffer of records) to the queue. Resolves when the outcome of its records is known, or they were
   * kept on disk.
   */
  readonly enqueueReplayed: (tape: Tape) => Promise<TapeResult>;
  /** Whether the queue is at most half full: new records are sent before replayed ones. */
  readonly hasCapacity: () => boolean;
}

/** Milliseconds between two checks of the folder for records that other processes left there. */
const claimIntervalMs = 30_000;
/** Milliseconds between two checks whether the queue has capacity. */
const capacityCheckMs = 100;
/**
 * After this many failed rounds of attempts, the records of a tape become a dead letter, which is not sent again
 * automatically, so that later tapes are sent.
 */
const maxRounds = 5;
/**
 * Milliseconds to wait after a failed round. The pause doubles after each round, from `firstPauseMs` up to
 * `maxPauseMs`.
 */
const firstPauseMs = 30_000;
const maxPauseMs = 600_000;

/**
 * Sends the tapes (buffers of records) that the spool stores on disk: in order, one at a time, and not faster than
 * `bytesPerSecond`. While the server is unavailable, the current tape waits for it like a newly recorded one. A tape
 * stays on disk until the outcome of its records is known.
 */
export class Replay {
  readonly #options: ReplayOptions;
  readonly #caughtUp = new Deferred<void>();
  #hasEnded = false;
  #endWait: (() => void) | undefined;

  constructor(options: ReplayOptions) {
    this.#options = options;
  }

  /** Starts sending the tapes of the spool. */
  start(): void {
    void this.#run();
  }

  /** Resolves when the spool, which keeps undelivered records on disk, is empty for the first time. */
  get caughtUp(): Promise<void> {
    return this.#caughtUp.promise;
  }

  /** Call this when records were written to the spool, so that they are sent soon. */
  checkSpool(): void {
    this.#endWait?.();
  }

  /** Stops sending. Records on disk stay there. */
  end(): void {
    this.#hasEnded = true;
    this.#endWait?.();
  }

  async #run(): Promise<void> {
    const { spool, bytesPerSecond } = this.#options;
    await spool.claim();
    while (!this.#hasEnded) {
      const tape = await spool.readNextTape();
      if (tape === undefined) {
        this.#caughtUp.resolve();
        await this.#waitForRecords();
        continue;
      }
      await this.#waitForCapacity();
      await this.#send(tape);
      if (!this.#hasEnded) {
        spool.completeTape();
        await this.#sleep((tape.body.length / bytesPerSecond) * 1_000);
      }
    }
  }

  async #waitForRecords(): Promise<void> {
    if (!this.#hasEnded) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, claimIntervalMs);
        timer.unref();
        this.#endWait = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#endWait = undefined;
    }
    if (!this.#hasEnded) {
      await this.#options.spool.claim();
    }
  }

  async #waitForCapacity(): Promise<void> {
    while (!this.#hasEnded && !this.#options.hasCapacity()) {
      await this.#sleep(capacityCheckMs);
    }
  }

  /** Sends a tape until the outcome of each record is known, or the client ends. */
  async #send({ body, recordCount, isOwn }: SpooledTape): Promise<void> {
    const { ledger, enqueueReplayed } = this.#options;
    let tape = this.#createTape(body);
    if (tape === undefined) {
      ledger.subtractSpooled(isOwn ? recordCount : 0);
      ledger.countLost("spoolLost", isOwn ? recordCount : 0);
      return;
    }
    let isCountedAsSpooled = isOwn;
    for (let round = 0; !this.#hasEnded; round++) {
      if (isCountedAsSpooled) {
        ledger.subtractSpooled(tape.records);
      } else {
        ledger.accepted += tape.records;
      }
      await enqueueReplayed(tape);
      const remaining = copyPendingRecords(tape);
      if (remaining.length === 0) {
        return;
      }
      // The remaining records were counted as spooled again, because they are still on disk.
      isCountedAsSpooled = true;
      tape = Tape.fromRecords(remaining);
      if (round + 1 >= maxRounds && !this.#hasEnded) {
        this.#writeDeadLetter(tape, remaining);
        return;
      }
      await this.#sleep(Math.min(firstPauseMs * 2 ** round, maxPauseMs));
    }
  }

  #writeDeadLetter({ records }: Tape, body: Uint8Array): void {
    const { ledger, deadLetters } = this.#options;
    const reason = `the server did not accept them in ${maxRounds} rounds of attempts`;
    deadLetters.write(body, records, { at: Date.now(), refused: [], reason });
    ledger.subtractSpooled(records);
    ledger.countLost("expired", records);
  }

  #createTape(body: Uint8Array): Tape | undefined {
    try {
      return Tape.fromRecords(body);
    } catch (error) {
      this.#options.ledger.countWarning("spoolDamaged");
      const reason = error instanceof Error ? error.message : String(error);
      this.#options.reporter.log("spoolDamaged", () => `The spool: ${reason}`);
      return undefined;
    }
  }

  /** Waits without keeping the process alive. Ends early when the client ends. */
  async #sleep(delayMs: number): Promise<void> {
    if (this.#hasEnded) {
      return;
    }
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, delayMs);
      timer.unref();
      this.#endWait = () => {
        if (this.#hasEnded) {
          clearTimeout(timer);
          resolve();
        }
      };
    });
    this.#endWait = undefined;
  }
}
