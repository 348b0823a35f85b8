import { toTapeCount } from "./flush-counts.ts";
import type { Shipment, TapeCount, TapeResult } from "./shipment.ts";
import type { Tape } from "../tape/tape.ts";

/** Options of {@link TapeQueue}. */
export interface TapeQueueOptions {
  /** Maximum number of tapes (buffers of records) in flight: sent, but without a known outcome. */
  readonly maxTapesInFlight: number;
  /** Maximum bytes of the tapes in flight, each counted with its whole buffer. A larger tape is sent alone. */
  readonly maxBytesInFlight: number;
  /** Sends a tape. The promise resolves when the outcome of each of its records is known, and never rejects. */
  readonly sendTape: (tape: Tape) => Promise<TapeResult>;
  /** Called for each tape that left the queue because all its records have an outcome. Its memory can be reused. */
  readonly onSettled: (settled: SettledShipment) => void;
}

/** A tape that left the queue, and how many of its records and runs were delivered and how many were lost. */
export interface SettledShipment {
  readonly shipment: Shipment;
  readonly count: TapeCount;
}

/**
 * Queue of the tapes (buffers of records) that get no more records: those that wait to be sent, oldest first, and those
 * in flight, which means sent but without a known outcome.
 */
export class TapeQueue {
  readonly #options: TapeQueueOptions;
  #waiting: Shipment[] = [];
  readonly #inFlight = new Set<Shipment>();
  #waitingBytes = 0;
  #inFlightBytes = 0;

  constructor(options: TapeQueueOptions) {
    this.#options = options;
  }

  /**
   * Memory of the waiting tapes, in bytes. A tape counts with the size of its buffer, even if it is only partly filled.
   */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Bytes of all tapes in the queue, including those in flight. */
  get heldBytes(): number {
    return this.#waitingBytes + this.#inFlightBytes;
  }

  /** Tapes that wait to be sent, without those that were read from the spool. */
  get waitingTapes(): readonly Tape[] {
    return this.#waiting.flatMap(({ tape }) => (tape.isReplayed ? [] : tape));
  }

  get isIdle(): boolean {
    return this.#inFlight.size === 0;
  }

  /** Whether a tape would be sent at once if it were added now. */
  canSendNow(tape: Tape): boolean {
    return this.#waiting.length === 0 && this.#hasFreeSlot(tape);
  }

  /**
   * Whether one more tape may be in flight. A limit on the number of tapes alone would not limit their memory, because
   * a record that is larger than a usual tape has a large tape of its own. Tapes in flight can't be evicted. With too
   * many large ones, the queue would stay full whatever is evicted, and new records would be lost.
   */
  #hasFreeSlot({ capacity }: Tape): boolean {
    const { maxTapesInFlight, maxBytesInFlight } = this.#options;
    return (
      this.isIdle ||
      (this.#inFlight.size < maxTapesInFlight && this.#inFlightBytes + capacity <= maxBytesInFlight)
    );
  }

  /** Returns the waiting tapes and those in flight; with `recorded`, without tapes that were read from the spool. */
  listShipments(tapeSelection: "recorded" | "all"): readonly Shipment[] {
    const allShipments = [...this.#waiting, ...this.#inFlight];
    return tapeSelection === "all"
      ? allShipments
      : allShipments.filter(({ tape }) => !tape.isReplayed);
  }

  /** Appends a tape that gets no more records, and stores `now` as its `cutAt`. */
  push(tape: Tape, now: number): Shipment {
    const { capacity } = tape;
    const shipment = { tape, waitingFlushes: 0, count: undefined, settlement: undefined };
    // Nothing below can fail: the `push` of an array does not run JavaScript.
    this.#waiting.push(shipment);
    this.#waitingBytes += capacity;
    tape.cutAt = now;
    return shipment;
  }

  /**
   * Sends waiting tapes, the oldest first, while the limits of tapes in flight allow it. A call that records a run must
   * not call this, because its stack may be exhausted.
   */
  sendWaiting(): void {
    for (;;) {
      const [nextShipment] = this.#waiting;
      if (nextShipment === undefined || !this.#hasFreeSlot(nextShipment.tape)) {
        return;
      }
      this.#waiting.shift();
      this.#waitingBytes -= nextShipment.tape.capacity;
      this.#inFlightBytes += nextShipment.tape.capacity;
      this.#inFlight.add(nextShipment);
      void this.#send(nextShipment);
    }
  }

  /**
   * Removes the oldest waiting tape after it was passed to `drop`, which must count the tape's records as lost or
   * spooled. Tapes in flight and tapes that were read from the spool are never evicted. Returns `undefined` if there is
   * no tape to evict. The caller must resolve the shipment's `settlement`.
   */
  evictOldest(drop: (tape: Tape) => void): SettledShipment | undefined {
    const index = this.#waiting.findIndex(({ tape }) => !tape.isReplayed);
    const shipment = this.#waiting[index];
    if (shipment === undefined) {
      return undefined;
    }
    const { records, starts, capacity } = shipment.tape;
    const count = { delivered: 0, lost: records, runsDelivered: 0, runsLost: starts };
    const evicted = { shipment, count };
    drop(shipment.tape);
    // Nothing below can fail, so a tape whose records `drop` has counted is always removed.
    this.#waiting.splice(index, 1);
    this.#waitingBytes -= capacity;
    shipment.count = count;
    return evicted;
  }

  /** Removes every tape from the queue and returns them. The caller must count the outcomes of their records. */
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
    const result = await this.#options.sendTape(tape);
    if (!this.#inFlight.delete(shipment)) {
      // `takeAll` has removed the shipment, and the caller of `takeAll` counts its records.
      return;
    }
    this.#inFlightBytes -= tape.capacity;
    this.#settle(shipment, result);
  }

  #settle(shipment: Shipment, result: TapeResult): void {
    // Count first: `onSettled` makes the tape available for reuse.
    const count = toTapeCount(shipment.tape, result);
    shipment.count = count;
    this.#options.onSettled({ shipment, count });
    shipment.settlement?.resolve(count);
  }
}
