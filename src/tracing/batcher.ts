import { Deferred } from "../model/deferred.ts";
import { ValidationError } from "../model/errors.ts";
import type { FlushResult, LossReason } from "../model/stats.ts";
import type { Hiding } from "./hiding.ts";
import type { Ledger } from "./ledger.ts";
import { RecordEncoder } from "./record-encoder.ts";
import { awaitShipments } from "./shipment.ts";
import type { Shipment, TapeResult } from "./shipment.ts";
import { Tape, TapePool } from "./tape.ts";
import { NoRoom, TapeWriter } from "./tape-writer.ts";

export interface BatcherOptions {
  readonly tapeBytes: number;
  readonly maxQueueBytes: number;
  readonly maxQueueRecords: number;
  readonly batchLimit: number;
  readonly firstDelayMs: number;
  readonly aggregationDelayMs: number;
  /** Tapes under way at once. */
  readonly slots: number;
  readonly hiding: Hiding;
  readonly ledger: Ledger;
  /** Sends a tape; settles when the outcome of each of its records is known. Never rejects. */
  readonly ship: (tape: Tape) => Promise<TapeResult>;
}

type Encode = (encoder: RecordEncoder) => void;

/**
 * The line of records: one open tape, cut tapes that wait for a slot, and tapes under way.
 *
 * A tape is cut when it is full; when its first record has waited `firstDelayMs` after a quiet time,
 * or `aggregationDelayMs` in traffic (a timer that no later record pushes back); or at the next turn
 * of the event loop when it holds `batchLimit` records and nothing is under way. While every slot is
 * taken an aged tape goes on filling, so that what waits is full tapes.
 */
export class Batcher {
  readonly #options: BatcherOptions;
  readonly #pool: TapePool;
  readonly #writer: TapeWriter;
  readonly #encoder: RecordEncoder;
  #open: Tape | undefined;
  #waiting: Shipment[] = [];
  readonly #underWay = new Set<Shipment>();
  #waitingBytes = 0;
  #pendingRecords = 0;
  #timer: NodeJS.Timeout | undefined;
  #immediate: NodeJS.Immediate | undefined;
  /** The open tape is old enough to be cut as soon as a slot is free. */
  #due = false;
  #encoding = false;
  #refusing = false;
  #lastCutAt = Number.NEGATIVE_INFINITY;

  constructor(options: BatcherOptions) {
    this.#options = options;
    this.#pool = new TapePool(options.tapeBytes, options.slots + 2);
    const tape = this.#pool.take(0);
    this.#open = tape;
    this.#writer = new TapeWriter(tape, (atLeast) => this.#nextTape(atLeast));
    this.#encoder = new RecordEncoder(this.#writer, options.hiding);
  }

  /** Records accepted whose outcome is not known yet. */
  get pending(): number {
    return this.#pendingRecords;
  }

  /** Encodes one record. Never throws, never waits; what can't be taken is counted. */
  record(encode: Encode): void {
    const { ledger, maxQueueRecords } = this.#options;
    ledger.accepted += 1;
    if (this.#refusing) {
      ledger.lose("closed", 1);
    } else if (this.#pendingRecords >= maxQueueRecords) {
      ledger.lose("queueFull", 1);
    } else if (this.#encoding) {
      this.#recordNested(encode);
    } else {
      this.#encode(encode);
    }
  }

  /** From now on every record is counted as lost, `closed`. */
  refuse(): void {
    this.#refusing = true;
  }

  /**
   * Ships what was recorded before the call and waits for it, at most `timeoutMs`.
   * The timer holds the process: a flush that is awaited always comes to its end.
   */
  flush(timeoutMs: number): Promise<FlushResult> {
    this.#cut();
    return awaitShipments([...this.#waiting, ...this.#underWay], timeoutMs);
  }

  /** Puts a tape into the line that was recorded before this process; its records are accepted here. */
  adopt(tape: Tape): Promise<TapeResult> {
    this.#options.ledger.accepted += tape.records;
    this.#pendingRecords += tape.records;
    return this.#enqueue(tape).promise;
  }

  /**
   * Ends the line: refuses from now on, and hands out every tape whose outcome is not known.
   * `underWay` were shipped before, `waiting` were not. The caller counts their records.
   */
  takeAll(): { readonly underWay: readonly Shipment[]; readonly waiting: readonly Shipment[] } {
    this.refuse();
    const tape = this.#open;
    if (tape !== undefined && tape.records > 0 && !this.#encoding) {
      this.#open = undefined;
      this.#waiting.push({ tape, settled: new Deferred() });
    }
    this.#forgetAge();
    const taken = { underWay: [...this.#underWay], waiting: this.#waiting };
    this.#underWay.clear();
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#pendingRecords = 0;
    return taken;
  }

  #queuedBytes(): number {
    return this.#waitingBytes + (this.#open?.used ?? 0);
  }

  #encode(encode: Encode): void {
    this.#openTape();
    this.#encoding = true;
    try {
      encode(this.#encoder);
      this.#options.ledger.bytesRecorded += this.#writer.endRecord();
      this.#pendingRecords += 1;
      this.#schedule();
    } catch (error) {
      this.#writer.abandonRecord();
      this.#options.ledger.lose(lossOf(error), 1);
    } finally {
      this.#encoding = false;
    }
  }

  /** A record made while another is being encoded, by a getter or a `toJSON`: on a tape of its own. */
  #recordNested(encode: Encode): void {
    const { ledger, hiding, tapeBytes } = this.#options;
    const small = Math.min(tapeBytes, 16_384);
    const writer = new TapeWriter(new Tape(small), (atLeast) => this.#tapeFor(atLeast));
    try {
      encode(new RecordEncoder(writer, hiding));
      ledger.bytesRecorded += writer.endRecord();
      this.#pendingRecords += 1;
      this.#enqueue(writer.tape);
    } catch (error) {
      ledger.lose(lossOf(error), 1);
    }
  }

  #openTape(): void {
    if (this.#open === undefined) {
      this.#open = this.#pool.take(0);
      this.#writer.use(this.#open);
    }
  }

  /** The writer's tape is full in mid-record: cut it, go on with another. */
  #nextTape(atLeast: number): Tape {
    const next = this.#tapeFor(atLeast);
    const full = this.#open;
    this.#open = next;
    this.#forgetAge();
    if (full !== undefined) {
      if (full.records > 0) {
        this.#enqueue(full);
      } else {
        this.#pool.give(full);
      }
    }
    return next;
  }

  /** A tape for a record of more than `atLeast` bytes; throws {@link NoRoom} at the queue's bound. */
  #tapeFor(atLeast: number): Tape {
    const { tapeBytes, maxQueueBytes } = this.#options;
    // A record larger than a tape may still grow: give it half as much again, or it moves each time.
    const size = atLeast > tapeBytes ? Math.ceil(atLeast * 1.5) + tapeBytes : tapeBytes;
    if (this.#queuedBytes() + atLeast > maxQueueBytes) {
      throw new NoRoom();
    }
    return this.#pool.take(size);
  }

  #schedule(): void {
    const { batchLimit, firstDelayMs, aggregationDelayMs } = this.#options;
    if (this.#timer === undefined && !this.#due) {
      const quiet = this.#underWay.size === 0 && performance.now() - this.#lastCutAt > firstDelayMs;
      this.#timer = setTimeout(() => this.#onAged(), quiet ? firstDelayMs : aggregationDelayMs);
      // An idle program may end: lifecycle then flushes what is pending.
      this.#timer.unref();
    }
    if (
      this.#immediate === undefined &&
      this.#underWay.size === 0 &&
      (this.#open?.records ?? 0) >= batchLimit
    ) {
      this.#immediate = setImmediate(() => this.#onAged());
      this.#immediate.unref();
    }
  }

  #onAged(): void {
    this.#disarm();
    this.#due = true;
    this.#advance();
  }

  /** Cuts the open tape now, whether or not a slot is free. */
  #cut(): void {
    this.#seal();
    this.#advance();
  }

  #seal(): void {
    const tape = this.#open;
    if (tape !== undefined && tape.records > 0 && !this.#encoding) {
      this.#open = undefined;
      this.#forgetAge();
      this.#enqueue(tape);
    }
  }

  /** The open tape is a new one. */
  #forgetAge(): void {
    this.#due = false;
    this.#disarm();
  }

  #disarm(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    clearImmediate(this.#immediate);
    this.#immediate = undefined;
  }

  #enqueue(tape: Tape): Deferred<TapeResult> {
    const now = performance.now();
    tape.cutAt = now;
    this.#lastCutAt = now;
    const settled = new Deferred<TapeResult>();
    this.#waiting.push({ tape, settled });
    this.#waitingBytes += tape.capacity;
    this.#advance();
    return settled;
  }

  /** Ships what waits, and then an aged open tape, while slots are free. */
  #advance(): void {
    while (this.#underWay.size < this.#options.slots) {
      const next = this.#waiting.shift();
      if (next !== undefined) {
        this.#waitingBytes -= next.tape.capacity;
        this.#underWay.add(next);
        void this.#send(next);
      } else if (this.#due && !this.#encoding && (this.#open?.records ?? 0) > 0) {
        this.#seal();
      } else {
        return;
      }
    }
  }

  async #send(shipment: Shipment): Promise<void> {
    const { tape, settled } = shipment;
    const result = await this.#options.ship(tape);
    if (!this.#underWay.delete(shipment)) {
      // Taken by takeAll: its records are counted there.
      return;
    }
    this.#pendingRecords -= tape.records;
    settled.resolve(result);
    this.#pool.give(tape);
    this.#advance();
  }
}

function lossOf(error: unknown): LossReason {
  if (error instanceof NoRoom) {
    return "queueFull";
  }
  return error instanceof ValidationError ? "invalid" : "unencodable";
}
