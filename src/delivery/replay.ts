import { Deferred } from "../model/deferred.ts";
import type { Ledger } from "../tracing/queue/ledger.ts";
import type { TapeResult } from "../tracing/queue/shipment.ts";
import { pendingBytes } from "../tracing/tape/tally.ts";
import { Tape } from "../tracing/tape/tape.ts";
import type { DeadLetters } from "../workers/spool/dead-letters.ts";
import type { Spool, SpooledTape } from "../workers/spool/spool.ts";
import type { Reporter } from "./reporter.ts";

export interface ReplayOptions {
  readonly spool: Spool;
  readonly ledger: Ledger;
  readonly reporter: Reporter;
  readonly deadLetters: DeadLetters;
  readonly bytesPerSecond: number;
  /** Puts a tape into the line; settles when the outcome of its records is known, or they were kept. */
  readonly enqueueReplayed: (tape: Tape) => Promise<TapeResult>;
  /** Whether the queue is at most half full: new records are sent before replayed ones. */
  readonly isCalm: () => boolean;
}

/** How often the folder is looked at for what other processes left behind. */
const claimAgainMs = 30_000;
const calmAgainMs = 100;
/** A tape on which the server failed in so many rounds is a dead letter: those behind it have waited enough. */
const roundLimit = 5;
/** After a round in which the server failed on a tape: doubles from the first to the longest. */
const firstPauseMs = 30_000;
const longestPauseMs = 600_000;

/**
 * Sends what is spooled, in order, one tape at a time and no faster than it may. While the server is
 * away the tape in hand waits for it as any other; it stays on disk until it has arrived.
 */
export class Replay {
  readonly #options: ReplayOptions;
  readonly #caughtUp = new Deferred<void>();
  #ended = false;
  #wake: (() => void) | undefined;

  constructor(options: ReplayOptions) {
    this.#options = options;
  }

  start(): void {
    void this.#run();
  }

  /** Settles when nothing was left on disk, for the first time. */
  get caughtUp(): Promise<void> {
    return this.#caughtUp.promise;
  }

  /** Something was spooled. */
  wake(): void {
    this.#wake?.();
  }

  /** Nothing more is sent; what is on disk stays there. */
  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async #run(): Promise<void> {
    const { spool, bytesPerSecond } = this.#options;
    await spool.claim();
    while (!this.#ended) {
      const tape = await spool.next();
      if (tape === undefined) {
        this.#caughtUp.resolve();
        await this.#idle();
        continue;
      }
      await this.#calm();
      await this.#send(tape);
      if (!this.#ended) {
        spool.done();
        await this.#sleep((tape.body.length / bytesPerSecond) * 1_000);
      }
    }
  }

  async #idle(): Promise<void> {
    if (!this.#ended) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, claimAgainMs);
        timer.unref();
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#wake = undefined;
    }
    if (!this.#ended) {
      await this.#options.spool.claim();
    }
  }

  async #calm(): Promise<void> {
    while (!this.#ended && !this.#options.isCalm()) {
      await this.#sleep(calmAgainMs);
    }
  }

  /** Until the outcome of each record is known, or the end. */
  async #send({ body, records, own }: SpooledTape): Promise<void> {
    const { ledger, enqueueReplayed } = this.#options;
    let tape = this.#tapeOf(body);
    if (tape === undefined) {
      ledger.unspool(own ? records : 0);
      ledger.lose("spoolLost", own ? records : 0);
      return;
    }
    let counted = own;
    for (let round = 0; !this.#ended; round++) {
      if (counted) {
        ledger.unspool(tape.records);
      } else {
        ledger.accepted += tape.records;
      }
      await enqueueReplayed(tape);
      const left = pendingBytes(tape);
      if (left.length === 0) {
        return;
      }
      // What is left was counted as spooled again: it is on disk still.
      counted = true;
      tape = Tape.of(left);
      if (round + 1 >= roundLimit && !this.#ended) {
        this.#writeDeadLetter(tape, left);
        return;
      }
      await this.#sleep(Math.min(firstPauseMs * 2 ** round, longestPauseMs));
    }
  }

  #writeDeadLetter({ records }: Tape, body: Uint8Array): void {
    const { ledger, deadLetters } = this.#options;
    const reason = `the server failed on them in ${roundLimit} rounds`;
    deadLetters.write(body, records, { at: Date.now(), refused: [], reason });
    ledger.unspool(records);
    ledger.lose("expired", records);
  }

  #tapeOf(body: Uint8Array): Tape | undefined {
    try {
      return Tape.of(body);
    } catch (error) {
      this.#options.ledger.warn("spoolDamaged");
      const why = error instanceof Error ? error.message : String(error);
      this.#options.reporter.log("spoolDamaged", () => `The spool: ${why}`);
      return undefined;
    }
  }

  /** Without holding the process; cut short at the end. */
  async #sleep(delayMs: number): Promise<void> {
    if (this.#ended) {
      return;
    }
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, delayMs);
      timer.unref();
      this.#wake = () => {
        if (this.#ended) {
          clearTimeout(timer);
          resolve();
        }
      };
    });
    this.#wake = undefined;
  }
}
