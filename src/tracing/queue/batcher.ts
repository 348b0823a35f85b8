import type { Deferred } from "../../model/deferred.ts";
import type { FlushResult, LossReason } from "../../model/stats.ts";
import { CutTimer } from "./cut-timer.ts";
import { countOf, FlushCounts, lostRecord } from "./flush-counts.ts";
import { TapeQueue } from "./tape-queue.ts";
import { isStart, RecordEncoder } from "../tape/record-encoder.ts";
import type { Encode } from "../tape/record-encoder.ts";
import { Capacity } from "./capacity.ts";
import { awaitShipments } from "./shipment.ts";
import type { Shipment, TapeCount, TapeResult } from "./shipment.ts";
import { Tape, TapePool } from "../tape/tape.ts";
import type { NextTape, Journal } from "../tape/tape.ts";
import { lossOf, CapacityExceeded } from "../tape/capacity-exceeded.ts";
import { assertStackRoom, uncounted } from "./stack-room.ts";
import { TapeWriter } from "../tape/tape-writer.ts";
import type { OverflowPolicy } from "../../model/options/keeping-options.ts";
import type { AttachmentRules } from "../tape/attachment-writer.ts";
import type { PayloadFilters } from "../tape/payload-filters.ts";
import type { Ledger } from "./ledger.ts";

/** Local copy: after bundling, an import may be a getter, and calling it would overflow an exhausted stack. */
const counted = uncounted;

/**
 * The queue of records: one open tape, cut tapes that wait for a slot, and tapes in flight.
 *
 * A tape is cut when it is full; when its first record has waited `firstDelayMs` after a quiet time,
 * or `aggregationDelayMs` in traffic (a timer that no later record pushes back); or at the next turn
 * of the event loop when it holds `batchLimit` records and nothing is in flight. While every slot is
 * taken, an aged tape continues to fill, so that the tapes that wait are full.
 */
export class Batcher {
  readonly #options: BatcherOptions;
  readonly #pool: TapePool;
  readonly #writer: TapeWriter;
  readonly #encoder: RecordEncoder;
  readonly #queue: TapeQueue;
  readonly #capacity: Capacity;
  /** Outcomes since the last flush that no running flush will report. */
  #counts = new FlushCounts();
  #open: Tape | undefined;
  #pendingRecords = 0;
  readonly #cutTimer = new CutTimer(() => this.#advance());
  #encoding = false;
  #refusing = false;
  #lastCutAt = Number.NEGATIVE_INFINITY;

  constructor(options: BatcherOptions) {
    this.#options = options;
    this.#pool = new TapePool(options.tapeBytes, options.slots + 2);
    this.#queue = new TapeQueue({ ...options, onSettled: (...done) => this.#onSettled(...done) });
    this.#capacity = new Capacity(() => this.#hasCapacity());
    const tape = this.#pool.take(0);
    this.#open = tape;
    this.#writer = new TapeWriter(tape, (...size) => this.#nextTape(...size), options.fieldBytes);
    this.#encoder = new RecordEncoder(this.#writer, options);
  }

  /** Accepted records whose outcome is not known yet. */
  get pending(): number {
    return this.#pendingRecords;
  }

  /** Memory of what waits: cut tapes whole, the open tape as far as it is written. */
  get queuedBytes(): number {
    return this.#queue.waitingBytes + (this.#open?.used ?? 0);
  }

  /** Memory of all that waits or is under way: what `maxQueueBytes` bounds. */
  get heldBytes(): number {
    return this.#queue.heldBytes + (this.#open?.used ?? 0);
  }

  /** Encodes one record. Never throws and never waits; a record that can't be queued is counted as lost. */
  record<Subject>(encode: Encode<Subject>, subject: Subject): void {
    const { ledger, maxQueueRecords } = this.#options;
    ledger.accepted += 1;
    try {
      if (this.#refusing) {
        this.#lose("closed", encode, subject);
      } else if (this.#pendingRecords >= maxQueueRecords && !this.#evictOldest()) {
        this.#lose("queueFull", encode, subject);
      } else if (this.#encoding) {
        this.#recordNested(encode, subject);
      } else {
        this.#encode(encode, subject);
      }
    } catch {
      // The stack is exhausted: no state has changed, and no function can be called.
      ledger.accepted -= 1;
      counted.records += 1;
    }
  }

  #lose<Subject>(reason: LossReason, encode: Encode<Subject>, subject: Subject): void {
    this.#options.ledger.lose(reason, 1);
    try {
      this.#counts.add(lostRecord(isStart(encode, subject)));
    } catch {
      // The stack is exhausted, as in `record`. The loss is already counted; do not count it again.
      counted.details += 1;
    }
  }

  /** From now on every record is counted as lost, `closed`. */
  refuse(): void {
    this.#refusing = true;
  }

  /**
   * Ships what was recorded before the call and waits for it, at most `timeoutMs` or until `hopeless`
   * settles; with `recorded` not for what a spool holds. Answers what became of it, and of what was settled
   * since the flush before. The timer holds the process: a flush that is awaited always comes to its end.
   */
  async flush(
    timeoutMs: number,
    { which = "all", hopeless }: FlushLimits = {},
  ): Promise<FlushResult> {
    assertStackRoom();
    this.#seal();
    this.#advance();
    const counts = this.#takeCounts();
    const awaited = await awaitShipments(this.#queue.shipments(which), timeoutMs, hopeless);
    for (const count of awaited.counts) {
      counts.add(count);
    }
    return counts.result(awaited.waiting);
  }

  /** Tapes of our own that no worker has: those that wait for a slot, and the one that is written to. */
  get waitingTapes(): readonly Tape[] {
    const open = this.#open;
    const isQuiet = open !== undefined && open.records > 0 && !this.#encoding;
    return isQuiet ? [...this.#queue.waitingTapes, open] : this.#queue.waitingTapes;
  }

  /** Counts a tape that was taken out of the line, whose outcome is known now. */
  settle({ tape, settled }: Shipment, result: TapeResult): void {
    const count = countOf(tape, result);
    this.#counts.add(count);
    settled.resolve(count);
  }

  /** What became of records since the last flush, where none waits any more. */
  takeResult(): FlushResult {
    return this.#takeCounts().result([]);
  }

  #takeCounts(): FlushCounts {
    const counts = this.#counts;
    this.#counts = new FlushCounts();
    return counts;
  }

  /**
   * True as soon as another tape of records would be taken, false when `timeoutMs` is over. Only the
   * policy `block` makes a caller wait; with the others something gives way at the bound.
   */
  waitForCapacity(timeoutMs: number): Promise<boolean> {
    if (this.#refusing) {
      return Promise.resolve(false);
    }
    return this.#options.overflow === "block"
      ? this.#capacity.wait(timeoutMs)
      : Promise.resolve(true);
  }

  /** Queues a tape that was read from the spool; the caller counts its records as accepted. */
  enqueueReplayed(tape: Tape): Promise<TapeResult> {
    this.#pendingRecords += tape.records;
    tape.isReplayed = true;
    return this.#enqueue(tape).promise;
  }

  /**
   * Ends the queue: refuses from now on, and hands out every tape whose outcome is not known.
   * `inFlight` were shipped before, `waiting` were not. The caller counts their records.
   */
  takeAll(): { readonly inFlight: readonly Shipment[]; readonly waiting: readonly Shipment[] } {
    this.refuse();
    const tape = this.#open;
    if (tape !== undefined && tape.records > 0 && !this.#encoding) {
      this.#open = undefined;
      this.#queue.push(tape);
    }
    this.#cutTimer.reset();
    this.#pendingRecords = 0;
    this.#capacity.end();
    return this.#queue.takeAll();
  }

  #hasCapacity(): boolean {
    const { tapeBytes, maxQueueBytes, maxQueueRecords } = this.#options;
    const left = maxQueueBytes - this.heldBytes;
    return this.#pendingRecords < maxQueueRecords && left >= Math.min(tapeBytes, maxQueueBytes);
  }

  /** At the bound: evicts the oldest waiting tape if the overflow policy allows it. */
  #evictOldest(): boolean {
    assertStackRoom();
    const { overflow, spill, ledger } = this.#options;
    if (overflow !== "drop-oldest" && overflow !== "spool") {
      return false;
    }
    const drop = overflow === "spool" ? spill : (tape: Tape) => ledger.drop(tape);
    if (this.#queue.evictOldest(drop)) {
      return true;
    }
    const tape = this.#open;
    if (tape === undefined || tape.records === 0 || this.#encoding) {
      return false;
    }
    // All that waits is on the open tape.
    this.#open = undefined;
    this.#cutTimer.reset();
    this.#queue.push(tape);
    return this.#queue.evictOldest(drop);
  }

  #encode<Subject>(encode: Encode<Subject>, subject: Subject): void {
    this.#openTape();
    this.#encoding = true;
    try {
      this.#take(this.#encoder, encode, subject);
    } finally {
      this.#encoding = false;
    }
  }

  /** Encodes a record that a getter or a `toJSON` made during another encoding, on a separate tape. */
  #recordNested<Subject>(encode: Encode<Subject>, subject: Subject): void {
    assertStackRoom();
    const { tapeBytes, fieldBytes } = this.#options;
    const tape = new Tape(Math.min(tapeBytes, 16_384));
    const writer = new TapeWriter(tape, (...size) => this.#tapeFor(...size), fieldBytes);
    this.#take(new RecordEncoder(writer, this.#options), encode, subject);
  }

  #take<Subject>(encoder: RecordEncoder, encode: Encode<Subject>, subject: Subject): void {
    const { ledger, journal } = this.#options;
    const writer = encoder.out;
    let length: number;
    try {
      encode(encoder, subject);
      length = writer.endRecord();
      this.#pendingRecords += 1;
    } catch (error) {
      this.#lose(lossOf(error), encode, subject);
      return;
    }
    try {
      ledger.record(length, writer.cutFields);
      writer.tape.keep(length, journal);
      if (writer === this.#writer) {
        this.#schedule();
      } else {
        this.#enqueue(writer.tape);
      }
    } catch {
      counted.details += 1;
    }
  }

  #openTape(): void {
    if ((this.#open?.records ?? 0) === 0 || this.#options.journal !== undefined) {
      assertStackRoom();
    }
    this.#open ??= this.#pool.take(0);
    if (this.#writer.tape !== this.#open) {
      this.#writer.use(this.#open);
    }
  }

  /** The writer's tape is full in mid-record: cut it, go on with another. */
  #nextTape(...size: Parameters<NextTape>): Tape {
    assertStackRoom();
    const next = this.#tapeFor(...size);
    const full = this.#open;
    if (full !== undefined && full.records > 0) {
      this.#push(full);
      // Keep this next to the push: an interruption between them would leave a queued tape open for writing.
      this.#open = next;
      try {
        this.#cutTimer.reset();
        this.#advance();
      } catch {
        // The stack is exhausted: the next tape or turn of the event loop sends this one.
      }
      return next;
    }
    this.#open = next;
    this.#cutTimer.reset();
    if (full !== undefined) {
      this.#pool.give(full);
    }
    return next;
  }

  /** A tape for a record of more than `atLeast` bytes; throws {@link CapacityExceeded} at the queue's bound. */
  #tapeFor(...[atLeast, isExact]: Parameters<NextTape>): Tape {
    const { tapeBytes, maxQueueBytes } = this.#options;
    // A record larger than a tape may still grow. Half as much again avoids a copy at each step.
    const grown = isExact ? atLeast : Math.ceil(atLeast * 1.5) + tapeBytes;
    const size = atLeast > tapeBytes ? grown : tapeBytes;
    while (this.heldBytes + atLeast > maxQueueBytes) {
      // A record larger than the whole queue is lost alone and evicts nothing.
      if (atLeast > maxQueueBytes || !this.#evictOldest()) {
        throw new CapacityExceeded();
      }
    }
    const left = Math.max(atLeast, maxQueueBytes - this.heldBytes);
    return this.#pool.take(size > tapeBytes ? Math.min(size, left) : size);
  }

  #schedule(): void {
    const { batchLimit, firstDelayMs, aggregationDelayMs } = this.#options;
    if (!this.#cutTimer.isSet) {
      const quiet = this.#queue.isIdle && performance.now() - this.#lastCutAt > firstDelayMs;
      this.#cutTimer.setAfter(quiet ? firstDelayMs : aggregationDelayMs);
    }
    if (this.#queue.isIdle && (this.#open?.records ?? 0) >= batchLimit) {
      this.#cutTimer.setNextTurn();
    }
  }

  /** Cuts the open tape now, whether or not a slot is free. */
  #seal(): void {
    const tape = this.#open;
    if (tape !== undefined && tape.records > 0 && !this.#encoding) {
      this.#cutTimer.reset();
      this.#push(tape);
      this.#open = undefined;
      this.#advance();
    }
  }

  #enqueue(tape: Tape): Deferred<TapeCount> {
    const settled = this.#push(tape);
    this.#advance();
    return settled;
  }

  /** Queues a tape. Throws on an exhausted stack, and has then changed nothing. */
  #push(tape: Tape): Deferred<TapeCount> {
    const now = performance.now();
    tape.cut(now);
    this.#lastCutAt = now;
    return this.#queue.push(tape);
  }

  /** Ships what waits, and then an aged open tape, while slots are free. */
  #advance(): void {
    this.#queue.advance();
    while (
      this.#queue.hasSlot &&
      this.#cutTimer.isDue &&
      !this.#encoding &&
      (this.#open?.records ?? 0) > 0
    ) {
      this.#seal();
    }
  }

  #onSettled({ tape, awaiting }: Shipment, count: TapeCount): void {
    if (awaiting === 0) {
      this.#counts.add(count);
    }
    this.#options.ledger.flushUncounted();
    this.#pendingRecords -= tape.records;
    this.#pool.give(tape);
    this.#advance();
    this.#capacity.check();
  }
}

/** What a batcher is made with. */
export interface BatcherOptions {
  readonly tapeBytes: number;
  readonly maxQueueBytes: number;
  readonly maxQueueRecords: number;
  /** Bytes of one field of a record; what is beyond is cut. */
  readonly fieldBytes: number;
  readonly batchLimit: number;
  readonly firstDelayMs: number;
  readonly aggregationDelayMs: number;
  /** Tapes under way at once. */
  readonly slots: number;
  readonly filters: PayloadFilters;
  readonly attachments: AttachmentRules;
  readonly ledger: Ledger;
  /** What is evicted or refused at the queue's bound. */
  readonly overflow: OverflowPolicy;
  /** Writes a waiting tape to the spool, for the policy `spool`, and counts its records. */
  readonly spill: (tape: Tape) => TapeResult;
  /** With it each record is written to disk before the call that made it returns. */
  readonly journal?: () => Journal;
  /** Sends a tape; settles when the outcome of each of its records is known. Never rejects. */
  readonly ship: (tape: Tape) => Promise<TapeResult>;
}

/** How long a flush waits, and for what. */
interface FlushLimits {
  /** @defaultValue `all` */
  readonly which?: "all" | "recorded";
  /** Settles when there is nothing left to wait for. */
  readonly hopeless?: Promise<void> | undefined;
}
