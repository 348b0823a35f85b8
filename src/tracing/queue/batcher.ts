import type { Deferred } from "../../model/deferred.ts";
import type { FlushResult, LossReason } from "../../model/stats.ts";
import { CutTimer } from "./cut-timer.ts";
import { toTapeCount, FlushCounts, lostRecord } from "./flush-counts.ts";
import { TapeQueue } from "./tape-queue.ts";
import { isStart, RecordEncoder } from "../tape/record-encoder.ts";
import type { Encode } from "../tape/record-encoder.ts";
import { Capacity } from "./capacity.ts";
import { awaitShipments } from "./shipment.ts";
import type { Shipment, TapeCount, TapeResult } from "./shipment.ts";
import { Tape, TapePool } from "../tape/tape.ts";
import type { NextTape, Journal } from "../tape/tape.ts";
import { lossReasonOf, CapacityExceeded } from "../tape/capacity-exceeded.ts";
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
    this.#queue = new TapeQueue({
      ...options,
      onSettled: (shipment, count) => this.#onSettled(shipment, count),
    });
    this.#capacity = new Capacity(() => this.#hasCapacity());
    const tape = this.#pool.take(0);
    this.#open = tape;
    this.#writer = new TapeWriter(
      tape,
      (...size) => this.#replaceFullTape(...size),
      options.fieldBytes,
    );
    this.#encoder = new RecordEncoder(this.#writer, options);
  }

  /** Accepted records whose outcome is not known yet. */
  get pending(): number {
    return this.#pendingRecords;
  }

  /**
   * Bytes of the waiting tapes. A cut tape counts with its whole buffer, the open tape with the bytes written so far.
   */
  get queuedBytes(): number {
    return this.#queue.waitingBytes + (this.#open?.used ?? 0);
  }

  /** Bytes of all tapes that wait or are in flight. The option `maxQueueBytes` bounds this sum. */
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

  /** Refuses all later records: each is counted as lost with the reason `closed`. */
  refuse(): void {
    this.#refusing = true;
  }

  /**
   * Ships all records that were recorded before the call and waits for their outcomes, at most `timeoutMs` or
   * until `hopeless` settles. With `which: "recorded"` it does not wait for records that were read from the
   * spool. The result also counts the records whose outcome became known since the previous flush. The
   * timer is not unref'd: it keeps the process alive, so an awaited flush always returns.
   */
  async flush(
    timeoutMs: number,
    { which = "all", hopeless }: FlushLimits = {},
  ): Promise<FlushResult> {
    assertStackRoom();
    this.#cutOpenTape();
    this.#advance();
    const counts = this.#takeCounts();
    const awaited = await awaitShipments(this.#queue.shipments(which), timeoutMs, hopeless);
    for (const count of awaited.counts) {
      counts.add(count);
    }
    return counts.result(awaited.waiting);
  }

  /** Tapes that were recorded by this client and not handed to a worker yet: cut tapes and the open tape. */
  get waitingTapes(): readonly Tape[] {
    const open = this.#open;
    const isQuiet = open !== undefined && open.records > 0 && !this.#encoding;
    return isQuiet ? [...this.#queue.waitingTapes, open] : this.#queue.waitingTapes;
  }

  /** Counts the outcome of a tape that {@link takeAll} removed from the queue. */
  settle({ tape, settled }: Shipment, result: TapeResult): void {
    const count = toTapeCount(tape, result);
    this.#counts.add(count);
    settled.resolve(count);
  }

  /** Counts of the records settled since the last flush. Call it only when no record is pending. */
  takeResult(): FlushResult {
    return this.#takeCounts().result([]);
  }

  #takeCounts(): FlushCounts {
    const counts = this.#counts;
    this.#counts = new FlushCounts();
    return counts;
  }

  /**
   * Resolves to true as soon as the queue has capacity for another tape, to false after `timeoutMs`. A caller
   * waits only with the overflow policy `block`. The other policies never wait: at the bound they drop or
   * spool records.
   */
  waitForCapacity(timeoutMs: number): Promise<boolean> {
    if (this.#refusing) {
      return Promise.resolve(false);
    }
    return this.#options.overflow === "block"
      ? this.#capacity.wait(timeoutMs)
      : Promise.resolve(true);
  }

  /** Queues a tape that was read from the spool. The caller must count its records as accepted. */
  enqueueReplayed(tape: Tape): Promise<TapeResult> {
    this.#pendingRecords += tape.records;
    tape.isReplayed = true;
    return this.#enqueue(tape).promise;
  }

  /**
   * Ends the queue: refuses later records and returns every tape whose outcome is not known. Tapes in
   * `inFlight` were already shipped, those in `waiting` were not. The caller must count their records.
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
    const freeBytes = maxQueueBytes - this.heldBytes;
    return (
      this.#pendingRecords < maxQueueRecords && freeBytes >= Math.min(tapeBytes, maxQueueBytes)
    );
  }

  /**
   * Evicts the oldest waiting tape to make room at the queue's bound. Returns false if the overflow policy
   * does not allow that, or if no tape can be evicted.
   */
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
    // No cut tape is waiting: cut the open tape and evict it.
    this.#open = undefined;
    this.#cutTimer.reset();
    this.#queue.push(tape);
    return this.#queue.evictOldest(drop);
  }

  #encode<Subject>(encode: Encode<Subject>, subject: Subject): void {
    this.#ensureOpenTape();
    this.#encoding = true;
    try {
      this.#encodeWith(this.#encoder, encode, subject);
    } finally {
      this.#encoding = false;
    }
  }

  /** Encodes a record on a separate tape: a getter or a `toJSON` recorded it while another record was being encoded. */
  #recordNested<Subject>(encode: Encode<Subject>, subject: Subject): void {
    assertStackRoom();
    const { tapeBytes, fieldBytes } = this.#options;
    const tape = new Tape(Math.min(tapeBytes, 16_384));
    const writer = new TapeWriter(tape, (...size) => this.#allocateTape(...size), fieldBytes);
    this.#encodeWith(new RecordEncoder(writer, this.#options), encode, subject);
  }

  /** Encodes a record and accepts it, or counts it as lost. */
  #encodeWith<Subject>(encoder: RecordEncoder, encode: Encode<Subject>, subject: Subject): void {
    const { ledger, journal } = this.#options;
    const writer = encoder.out;
    let length: number;
    try {
      encode(encoder, subject);
      length = writer.endRecord();
      this.#pendingRecords += 1;
    } catch (error) {
      this.#lose(lossReasonOf(error), encode, subject);
      return;
    }
    try {
      ledger.record(length, writer.cutFields);
      writer.tape.writeToJournal(length, journal);
      if (writer === this.#writer) {
        this.#schedule();
      } else {
        this.#enqueue(writer.tape);
      }
    } catch {
      counted.details += 1;
    }
  }

  #ensureOpenTape(): void {
    if ((this.#open?.records ?? 0) === 0 || this.#options.journal !== undefined) {
      assertStackRoom();
    }
    this.#open ??= this.#pool.take(0);
    if (this.#writer.tape !== this.#open) {
      this.#writer.use(this.#open);
    }
  }

  /** Called when the open tape is full in the middle of a record: cuts it and returns an empty tape. */
  #replaceFullTape(...size: Parameters<NextTape>): Tape {
    assertStackRoom();
    const next = this.#allocateTape(...size);
    const full = this.#open;
    if (full !== undefined && full.records > 0) {
      this.#cutAndPush(full);
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
      this.#pool.release(full);
    }
    return next;
  }

  /**
   * Takes a tape with capacity for a record of `atLeast` bytes. Evicts waiting tapes where the policy allows it;
   * throws {@link CapacityExceeded} if the queue's bound would still be exceeded.
   */
  #allocateTape(...[atLeast, isExact]: Parameters<NextTape>): Tape {
    const { tapeBytes, maxQueueBytes } = this.#options;
    // A record larger than a tape may still grow. Allocating half as much again avoids a copy at each step.
    const largeSize = isExact ? atLeast : Math.ceil(atLeast * 1.5) + tapeBytes;
    const size = atLeast > tapeBytes ? largeSize : tapeBytes;
    while (this.heldBytes + atLeast > maxQueueBytes) {
      // A record larger than the whole queue is lost alone and evicts nothing.
      if (atLeast > maxQueueBytes || !this.#evictOldest()) {
        throw new CapacityExceeded();
      }
    }
    const freeBytes = Math.max(atLeast, maxQueueBytes - this.heldBytes);
    return this.#pool.take(size > tapeBytes ? Math.min(size, freeBytes) : size);
  }

  #schedule(): void {
    const { batchLimit, firstDelayMs, aggregationDelayMs } = this.#options;
    if (!this.#cutTimer.isSet) {
      const isQuiet = this.#queue.isIdle && performance.now() - this.#lastCutAt > firstDelayMs;
      this.#cutTimer.setAfter(isQuiet ? firstDelayMs : aggregationDelayMs);
    }
    if (this.#queue.isIdle && (this.#open?.records ?? 0) >= batchLimit) {
      this.#cutTimer.setNextTurn();
    }
  }

  /** Cuts the open tape now, even if no slot is free to send it. */
  #cutOpenTape(): void {
    const tape = this.#open;
    if (tape !== undefined && tape.records > 0 && !this.#encoding) {
      this.#cutTimer.reset();
      this.#cutAndPush(tape);
      this.#open = undefined;
      this.#advance();
    }
  }

  #enqueue(tape: Tape): Deferred<TapeCount> {
    const settled = this.#cutAndPush(tape);
    this.#advance();
    return settled;
  }

  /** Cuts a tape and queues it. If the stack is exhausted it throws before it changes anything. */
  #cutAndPush(tape: Tape): Deferred<TapeCount> {
    const now = performance.now();
    tape.cut(now);
    this.#lastCutAt = now;
    return this.#queue.push(tape);
  }

  /** Ships waiting tapes while slots are free, and then the open tape if its delay has elapsed. */
  #advance(): void {
    this.#queue.advance();
    while (
      this.#queue.hasSlot &&
      this.#cutTimer.isDue &&
      !this.#encoding &&
      (this.#open?.records ?? 0) > 0
    ) {
      this.#cutOpenTape();
    }
  }

  #onSettled({ tape, waitingFlushes }: Shipment, count: TapeCount): void {
    if (waitingFlushes === 0) {
      this.#counts.add(count);
    }
    this.#options.ledger.flushUncounted();
    this.#pendingRecords -= tape.records;
    this.#pool.release(tape);
    this.#advance();
    this.#capacity.check();
  }
}

/** Options of a {@link Batcher}. */
export interface BatcherOptions {
  readonly tapeBytes: number;
  readonly maxQueueBytes: number;
  readonly maxQueueRecords: number;
  /** Largest size of one field of a record, bytes. A longer field is cut. */
  readonly fieldBytes: number;
  readonly batchLimit: number;
  readonly firstDelayMs: number;
  readonly aggregationDelayMs: number;
  /** Maximum number of tapes in flight. */
  readonly slots: number;
  readonly filters: PayloadFilters;
  readonly attachments: AttachmentRules;
  readonly ledger: Ledger;
  /** Decides which records are evicted or refused at the queue's bound. */
  readonly overflow: OverflowPolicy;
  /** Writes a waiting tape to the spool and counts its records. Used with the overflow policy `spool`. */
  readonly spill: (tape: Tape) => TapeResult;
  /** Opens a journal for a tape. If present, each record is on disk before the call that recorded it returns. */
  readonly journal?: () => Journal;
  /** Sends a tape. The promise resolves when the outcome of each of its records is known, and never rejects. */
  readonly ship: (tape: Tape) => Promise<TapeResult>;
}

/** Which tapes a flush waits for, and when it stops waiting early. */
interface FlushLimits {
  /** `recorded` leaves out the tapes that were read from the spool. @defaultValue `all` */
  readonly which?: "all" | "recorded";
  /** Settles when waiting longer is pointless, because the server was never reached. */
  readonly hopeless?: Promise<void> | undefined;
}
