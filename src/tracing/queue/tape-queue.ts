import { Deferred } from "../../model/deferred.ts";
import { toTapeCount } from "./flush-counts.ts";
import { hasRoomToSend } from "./stack-room.ts";
import type { Shipment, TapeCount, TapeResult } from "./shipment.ts";
import type { Tape } from "../tape/tape.ts";

export interface TapeQueueOptions {
  /** Maximum number of tapes in flight. */
  readonly slots: number;
  /** Sends a tape. The promise resolves when the outcome of each of its records is known, and never rejects. */
  readonly ship: (tape: Tape) => Promise<TapeResult>;
  /** Called for each tape that left the queue. Its outcomes are final, and its memory can be reused. */
  readonly onSettled: (shipment: Shipment, count: TapeCount) => void;
}

/** Queue of cut tapes: tapes that wait for a slot, oldest first, and tapes in flight. */
export class TapeQueue {
  readonly #options: TapeQueueOptions;
  #waiting: Shipment[] = [];
  readonly #inFlight = new Set<Shipment>();
  #waitingBytes = 0;
  #inFlightBytes = 0;

  constructor(options: TapeQueueOptions) {
    this.#options = options;
  }

  /** Bytes of the waiting tapes, each counted with its whole buffer. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Bytes of all tapes in the queue, including those in flight. */
  get heldBytes(): number {
    return this.#waitingBytes + this.#inFlightBytes;
  }

  /** Tapes that wait for a slot, without those that were read from the spool. */
  get waitingTapes(): readonly Tape[] {
    return this.#waiting.flatMap(({ tape }) => (tape.isReplayed ? [] : tape));
  }

  get isIdle(): boolean {
    return this.#inFlight.size === 0;
  }

  get hasSlot(): boolean {
    return this.#inFlight.size < this.#options.slots;
  }

  /** The waiting tapes and those in flight; with `recorded`, without tapes that were read from the spool. */
  shipments(which: "recorded" | "all"): readonly Shipment[] {
    const all = [...this.#waiting, ...this.#inFlight];
    return which === "all" ? all : all.filter(({ tape }) => !tape.isReplayed);
  }

  /** Appends a cut tape. The result resolves to its counts when it leaves the queue. */
  push(tape: Tape): Deferred<TapeCount> {
    const settled = new Deferred<TapeCount>();
    const { capacity } = tape;
    // Nothing below calls a function, so an exhausted stack can't interrupt it.
    this.#waiting.push({ tape, settled, waitingFlushes: 0 });
    this.#waitingBytes += capacity;
    return settled;
  }

  /** Sends waiting tapes while slots are free. If the stack is nearly exhausted, it does so in a microtask instead. */
  advance(): void {
    while (this.hasSlot && this.#waiting.length > 0) {
      if (!hasRoomToSend()) {
        // An interruption in the middle would leave a tape neither sent nor counted.
        void Promise.resolve().then(() => this.advance());
        return;
      }
      const next = this.#waiting.shift();
      if (next === undefined) {
        return;
      }
      this.#waitingBytes -= next.tape.capacity;
      this.#inFlightBytes += next.tape.capacity;
      this.#inFlight.add(next);
      void this.#send(next);
    }
  }

  /**
   * Removes the oldest waiting tape and calls `drop`, which counts its records. Tapes in flight and tapes that
   * were read from the spool are never evicted. Returns false if there is no tape to evict.
   */
  evictOldest(drop: (tape: Tape) => TapeResult): boolean {
    const index = this.#waiting.findIndex(({ tape }) => !tape.isReplayed);
    const [oldest] = index === -1 ? [] : this.#waiting.splice(index, 1);
    if (oldest === undefined) {
      return false;
    }
    this.#waitingBytes -= oldest.tape.capacity;
    this.#settle(oldest, drop(oldest.tape));
    return true;
  }

  /** Removes and returns every tape. The caller must count their records. */
  takeAll(): { readonly inFlight: readonly Shipment[]; readonly waiting: readonly Shipment[] } {
    const shipments = { inFlight: [...this.#inFlight], waiting: this.#waiting };
    this.#inFlight.clear();
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#inFlightBytes = 0;
    return shipments;
  }

  async #send(shipment: Shipment): Promise<void> {
    const { tape } = shipment;
    const result = await this.#options.ship(tape);
    if (!this.#inFlight.delete(shipment)) {
      // `takeAll` removed it, and its caller counts the records.
      return;
    }
    this.#inFlightBytes -= tape.capacity;
    this.#settle(shipment, result);
  }

  #settle(shipment: Shipment, result: TapeResult): void {
    // Count first: `onSettled` makes the tape available for reuse.
    const count = toTapeCount(shipment.tape, result);
    this.#options.onSettled(shipment, count);
    shipment.settled.resolve(count);
  }
}
