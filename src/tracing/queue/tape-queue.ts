import { Deferred } from "../../model/deferred.ts";
import { countOf } from "./flush-counts.ts";
import { hasRoomToSend } from "./stack-room.ts";
import type { Shipment, TapeCount, TapeResult } from "./shipment.ts";
import type { Tape } from "../tape/tape.ts";

export interface TapeQueueOptions {
  /** Tapes under way at once. */
  readonly slots: number;
  /** Sends a tape; settles when the outcome of each of its records is known. Never rejects. */
  readonly ship: (tape: Tape) => Promise<TapeResult>;
  /** Called for each tape that left the queue: its records are counted, and its memory can be reused. */
  readonly onSettled: (shipment: Shipment, count: TapeCount) => void;
}

/** Cut tapes: those that wait for a slot, the oldest first, and those in flight. */
export class TapeQueue {
  readonly #options: TapeQueueOptions;
  #waiting: Shipment[] = [];
  readonly #inFlight = new Set<Shipment>();
  #waitingBytes = 0;
  #inFlightBytes = 0;

  constructor(options: TapeQueueOptions) {
    this.#options = options;
  }

  /** Memory of the tapes that wait, used or not. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Memory of all tapes in the queue, including those in flight. */
  get heldBytes(): number {
    return this.#waitingBytes + this.#inFlightBytes;
  }

  /** Tapes that wait for a slot and are not in a spool. */
  get waitingTapes(): readonly Tape[] {
    return this.#waiting.flatMap(({ tape }) => (tape.isReplayed ? [] : tape));
  }

  get isIdle(): boolean {
    return this.#inFlight.size === 0;
  }

  get hasSlot(): boolean {
    return this.#inFlight.size < this.#options.slots;
  }

  /** Those that were recorded here, or also those that a spool holds. */
  shipments(which: "recorded" | "all"): readonly Shipment[] {
    const all = [...this.#waiting, ...this.#inFlight];
    return which === "all" ? all : all.filter(({ tape }) => !tape.isReplayed);
  }

  push(tape: Tape): Deferred<TapeCount> {
    const settled = new Deferred<TapeCount>();
    const { capacity } = tape;
    // Nothing below calls a function, so an exhausted stack can't interrupt it.
    this.#waiting.push({ tape, settled, awaiting: 0 });
    this.#waitingBytes += capacity;
    return settled;
  }

  /** Sends what waits while slots are free; where the stack is all but exhausted, as soon as it is not. */
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
   * Takes the oldest waiting tape out and has `giveUp` count its records; what is under way stays, and
   * so does what a spool holds already. False where nothing can give way.
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

  /** Hands out every tape; from here on the caller counts their records. */
  takeAll(): { readonly inFlight: readonly Shipment[]; readonly waiting: readonly Shipment[] } {
    const taken = { inFlight: [...this.#inFlight], waiting: this.#waiting };
    this.#inFlight.clear();
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#inFlightBytes = 0;
    return taken;
  }

  async #send(shipment: Shipment): Promise<void> {
    const { tape } = shipment;
    const result = await this.#options.ship(tape);
    if (!this.#inFlight.delete(shipment)) {
      // Taken by takeAll: its records are counted there.
      return;
    }
    this.#inFlightBytes -= tape.capacity;
    this.#settle(shipment, result);
  }

  #settle(shipment: Shipment, result: TapeResult): void {
    // Count first: `onSettled` makes the tape available for reuse.
    const count = countOf(shipment.tape, result);
    this.#options.onSettled(shipment, count);
    shipment.settled.resolve(count);
  }
}
