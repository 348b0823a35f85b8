import type { FlushResult, LossReason } from "../../model/stats.ts";
import { CutTimer } from "./cut-timer.ts";
import { toTapeCount, FlushCounts } from "./flush-counts.ts";
import { TapeQueue } from "./tape-queue.ts";
import type { SettledShipment } from "./tape-queue.ts";
import { isStart, RecordEncoder } from "../tape/record-encoder.ts";
import type { EncodeFunction } from "../tape/record-encoder.ts";
import { CapacityWaiters } from "./capacity-waiters.ts";
import type { OpenRecord, OpenRun, OpenRuns } from "./open-runs.ts";
import { awaitShipments, awaitSettlement } from "./shipment.ts";
import type { Shipment, TapeResult } from "./shipment.ts";
import { Tape, TapePool } from "../tape/tape.ts";
import type { ProvideTape, Journal } from "../tape/tape.ts";
import { lossReasonOf, CapacityExceeded } from "../tape/capacity-exceeded.ts";
import { TapeWriter } from "../tape/tape-writer.ts";
import type { OverflowPolicy } from "../../model/options/keeping-options.ts";
import type { AttachmentRules } from "../tape/attachment-writer.ts";
import type { ExchangeRules } from "../tape/exchange-record.ts";
import type { PayloadFilters } from "../tape/payload-filters.ts";
import { uncountedLosses } from "./ledger.ts";
import type { Ledger } from "./ledger.ts";

/** A local copy, because a bundler may turn an import into a getter, which can't be called on an exhausted stack. */
const localUncountedLosses = uncountedLosses;

/**
 * The queue of records. Records are appended to one open tape, a shared buffer. A tape that is cut gets no more
 * records: it waits until it can be sent. At most `maxTapesInFlight` tapes with at most `maxBytesInFlight` are in
 * flight, which means sent but without a known outcome.
 *
 * A tape is cut when it is full, or when its first record has waited long enough. If no tape is in flight and none was
 * cut recently, the first record waits `firstDelayMs`, or until the next turn of the event loop in which the tape holds
 * `batchLimit` records. In continuous traffic it waits `aggregationDelayMs` on the first tape, and twice as long on
 * each next one, up to `maxDelayMs`. Few large tapes are cheaper: sending one takes more than a millisecond of CPU
 * time, which at a low rate is more than recording its records takes. Later records do not extend the time. While as
 * many tapes as allowed are in flight, the open tape continues to fill, so that the tapes that wait are full.
 *
 * A program may record when its call stack is exhausted, and then any function call in this class can throw a
 * RangeError. So a step that changes the state first makes its calls and creates its objects, which can fail, and only
 * then assigns fields. An error before the assignments leaves the state unchanged, and `record` catches it. Sending,
 * timers and log messages begin in a later turn of the event loop, where the stack is empty.
 */
export class Batcher {
  readonly #options: BatcherOptions;
  readonly #tapePool: TapePool;
  readonly #writer: TapeWriter;
  readonly #encoder: RecordEncoder;
  readonly #queue: TapeQueue;
  readonly #capacityWaiters: CapacityWaiters;
  /** Counts of delivered and lost records that the next flush will report. */
  #unreportedCounts = new FlushCounts();
  #openTape: Tape | undefined;
  #pendingRecords = 0;
  readonly #cutTimer = new CutTimer(
    () => this.#onTurn(),
    () => this.#sendDueTapes(),
  );
  #isEncoding = false;
  #isRefusing = false;
  #lastCutAt = Number.NEGATIVE_INFINITY;
  /** Milliseconds that the first record of the next tape waits while there is traffic. */
  #trafficDelayMs: number;
  /** Whether the open tape is the first one after a quiet period. It is sent early if it holds `batchLimit` records. */
  #isFirstTape = true;

  constructor(options: BatcherOptions) {
    this.#options = options;
    this.#trafficDelayMs = options.aggregationDelayMs;
    this.#tapePool = new TapePool(options.tapeBytes, options.maxTapesInFlight + 2);
    this.#queue = new TapeQueue({
      ...options,
      onSettled: (settled) => this.#onSettled(settled),
    });
    this.#capacityWaiters = new CapacityWaiters(() => this.#hasCapacity());
    const tape = this.#tapePool.take(0);
    this.#openTape = tape;
    this.#writer = new TapeWriter(
      tape,
      (...sizeArguments) => this.#replaceFullTape(...sizeArguments),
      options.fieldBytes,
    );
    this.#encoder = new RecordEncoder(this.#writer, options);
    // This call only makes the engine compile `requestTurn` now. Compiling needs stack space, and a later call may
    // come from a program that has almost none left.
    this.#cutTimer.requestTurn();
  }

  /** Number of accepted records whose outcome is not known yet. */
  get pending(): number {
    return this.#pendingRecords;
  }

  /**
   * Number of pending records that can be sent. With the option `openRuns`, the records of runs that have not ended are
   * not counted, because they are sent only when their run has ended.
   */
  get sendable(): number {
    return this.#pendingRecords - (this.#options.openRuns?.records ?? 0);
  }

  /**
   * Size of the buffers of all tapes that wait to be sent, plus the number of bytes already written to the open tape,
   * which is the one to which records are appended.
   */
  get queuedBytes(): number {
    return this.#queue.waitingBytes + (this.#openTape?.usedBytes ?? 0);
  }

  /**
   * The sum of {@link queuedBytes}, the size of the tapes in flight, and the size of the kept runs that have not ended.
   * The option `maxQueueBytes` limits this sum.
   */
  get heldBytes(): number {
    const openRunBytes = this.#options.openRuns?.sizeBytes ?? 0;
    return this.#queue.heldBytes + (this.#openTape?.usedBytes ?? 0) + openRunBytes;
  }

  /** Encodes one record. Never throws and never waits; a record that can't be queued is counted as lost. */
  record<Source>(encode: EncodeFunction<Source>, source: Source): void {
    try {
      const reason = this.#tryRecord(encode, source);
      if (reason !== undefined) {
        this.#countLost(reason, encode, source);
      }
    } catch {
      // Only an exhausted stack of the program causes an error here. The record is neither on a tape nor counted yet,
      // and the next record overwrites whatever was written of it.
      localUncountedLosses.records += 1;
    }
  }

  /** Accepts a record, or returns the reason why it is lost. If it throws, it has not accepted the record. */
  #tryRecord<Source>(encode: EncodeFunction<Source>, source: Source): LossReason | undefined {
    if (this.#isRefusing) {
      return "closed";
    }
    if (this.#pendingRecords >= this.#options.maxQueueRecords && !this.#evictOldest()) {
      return "queueFull";
    }
    return this.#isEncoding
      ? this.#recordNested(encode, source)
      : this.#recordOnOpenTape(encode, source);
  }

  #countLost<Source>(reason: LossReason, encode: EncodeFunction<Source>, source: Source): void {
    const { ledger } = this.#options;
    const lostStarts = isStart(encode, source) ? 1 : 0;
    ledger.countLost(reason, 1);
    ledger.accepted += 1;
    this.#unreportedCounts.lost += 1;
    this.#unreportedCounts.runsLost += lostStarts;
  }

  /** Refuses all later records: each is counted as lost with the reason `closed`. */
  refuseRecords(): void {
    this.#isRefusing = true;
  }

  /**
   * Ships all records that were recorded before the call and waits for their outcomes, at most `timeoutMs` or
   * until `unreachable` resolves. With the selection `recorded` it does not wait for records that were read from the
   * spool. The result also counts the records whose outcome became known since the previous flush. The
   * timer is not unref'd: it keeps the process alive, so an awaited flush always returns.
   */
  async flush(
    timeoutMs: number,
    { tapeSelection = "all", unreachable }: FlushLimits = {},
  ): Promise<FlushResult> {
    this.#cutOpenTape();
    const shipments = this.#queue.listShipments(tapeSelection);
    for (const shipment of shipments) {
      shipment.waitingFlushes += 1;
    }
    const counts = this.#takeUnreportedCounts();
    // Continue in a microtask, which begins with an empty stack: the program may call `flush` when its own stack is
    // exhausted.
    await Promise.resolve();
    this.#sendDueTapes();
    const awaitedShipments = await awaitShipments(shipments, timeoutMs, unreachable);
    for (const count of awaitedShipments.counts) {
      counts.add(count);
    }
    return counts.toResult(awaitedShipments.waiting, this.#options.openRuns);
  }

  /**
   * Tapes with records of this client that were not sent to a worker yet: those that wait to be sent and, unless a
   * record is being written, the open tape.
   */
  get waitingTapes(): readonly Tape[] {
    const openTape = this.#openTape;
    const shouldIncludeOpenTape =
      openTape !== undefined && openTape.records > 0 && !this.#isEncoding;
    return shouldIncludeOpenTape
      ? [...this.#queue.waitingTapes, openTape]
      : this.#queue.waitingTapes;
  }

  /** Counts the outcomes of the records of a tape that {@link takeAll} removed from the queue. */
  countTakenTape(shipment: Shipment, result: TapeResult): void {
    const count = toTapeCount(shipment.tape, result);
    this.#unreportedCounts.add(count);
    shipment.count = count;
    shipment.settlement?.resolve(count);
  }

  /**
   * Returns the counts of the records whose outcome became known since the last flush. Call it only when no record is
   * pending.
   */
  takeResult(): FlushResult {
    return this.#takeUnreportedCounts().toResult([]);
  }

  #takeUnreportedCounts(): FlushCounts {
    const counts = this.#unreportedCounts;
    this.#unreportedCounts = new FlushCounts();
    return counts;
  }

  /**
   * Resolves to true as soon as the queue has capacity for another tape, to false after `timeoutMs`. A caller
   * waits only with the overflow policy `block`. The other policies never wait: when the queue is full, they drop
   * records or write them to disk.
   */
  waitForCapacity(timeoutMs: number): Promise<boolean> {
    if (this.#isRefusing) {
      return Promise.resolve(false);
    }
    return this.#options.overflow === "block"
      ? this.#capacityWaiters.wait(timeoutMs)
      : Promise.resolve(true);
  }

  /** Queues a tape whose records were read from the spool on disk. The caller must count these records as accepted. */
  enqueueReplayed(tape: Tape): Promise<TapeResult> {
    this.#pendingRecords += tape.records;
    tape.isReplayed = true;
    const settlement = awaitSettlement(this.#queue.push(tape, performance.now()));
    this.#sendDueTapes();
    return settlement;
  }

  /**
   * Ends the queue: refuses later records and returns every tape that has records without an outcome. The tapes in
   * `inFlight` were already sent to a worker, those in `waiting` were not. The caller must count the outcomes of their
   * records.
   */
  takeAll(): { readonly inFlight: readonly Shipment[]; readonly waiting: readonly Shipment[] } {
    this.refuseRecords();
    while (this.#loseOldestOpenRun("unended")) {
      // Runs that have not ended can't be sent any more.
    }
    this.#cutOpenTape();
    this.#cutTimer.cancel();
    this.#pendingRecords = 0;
    this.#capacityWaiters.refuseAll();
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
   * Evicts the oldest waiting tape to make room in a full queue. Returns false if the overflow policy does not allow
   * that, or if no tape can be evicted.
   */
  #evictOldest(): boolean {
    const { overflow, spoolTape, ledger } = this.#options;
    if (overflow !== "drop-oldest" && overflow !== "spool") {
      return false;
    }
    const drop = overflow === "spool" ? spoolTape : (tape: Tape) => ledger.dropTape(tape);
    const evicted = this.#queue.evictOldest(drop);
    if (evicted !== undefined) {
      const { shipment, count } = evicted;
      this.#pendingRecords -= shipment.tape.records;
      if (shipment.waitingFlushes === 0) {
        this.#unreportedCounts.lost += count.lost;
        this.#unreportedCounts.runsLost += count.runsLost;
      }
      shipment.settlement?.resolve(count);
      this.#tapePool.recycle(shipment.tape);
      return true;
    }
    // No tape is waiting: cut the open tape, so that it gets no more records, and evict it.
    return this.#cutOpenTape() && this.#evictOldest();
  }

  #recordOnOpenTape<Source>(
    encode: EncodeFunction<Source>,
    source: Source,
  ): LossReason | undefined {
    this.#openTape ??= this.#tapePool.take(0);
    if (this.#writer.tape !== this.#openTape) {
      this.#writer.continueOn(this.#openTape);
    }
    this.#schedule();
    this.#isEncoding = true;
    try {
      return this.#encodeWith(this.#encoder, encode, source);
    } finally {
      this.#isEncoding = false;
    }
  }

  /**
   * Encodes, on a separate tape, a record that a getter or a `toJSON` method created while another record was being
   * encoded.
   */
  #recordNested<Source>(encode: EncodeFunction<Source>, source: Source): LossReason | undefined {
    const { tapeBytes, fieldBytes } = this.#options;
    const tape = new Tape(Math.min(tapeBytes, 16_384));
    const writer = new TapeWriter(
      tape,
      (...sizeArguments) => this.#allocateTape(...sizeArguments),
      fieldBytes,
    );
    this.#cutTimer.requestTurn();
    return this.#encodeWith(new RecordEncoder(writer, this.#options), encode, source);
  }

  /** Encodes a record and accepts it, or returns the reason why it is lost. */
  #encodeWith<Source>(
    encoder: RecordEncoder,
    encode: EncodeFunction<Source>,
    source: Source,
  ): LossReason | undefined {
    const { ledger, openJournal, openRuns } = this.#options;
    const writer = encoder.writer;
    let length: number;
    let addedBytes = 0;
    let openRun: OpenRun | undefined;
    try {
      encode(encoder, source);
      length = writer.closeRecord();
      if (openRuns !== undefined) {
        const { runId, isRunStart, isRunEnd } = writer.readContent(length);
        openRun = openRuns.find(runId);
        if (openRun === undefined && !isRunStart) {
          return "startMissing";
        }
        if (!isRunEnd) {
          return this.#keepOpen(writer, length, { runId, isRunStart });
        }
        addedBytes = openRun === undefined ? 0 : writer.addEarlierRecords(openRun.records);
      }
    } catch (error) {
      return lossReasonOf(error);
    }
    const { tape, truncatedFieldCount } = writer;
    if (openJournal !== undefined) {
      const count = 1 + (openRun?.count ?? 0);
      tape.writeToJournal(addedBytes + length, count, openJournal);
    }
    ledger.countTruncated("field", truncatedFieldCount);
    writer.commitRecord(length, openRun);
    if (writer !== this.#writer) {
      tape.sealJournal();
      // If this throws, nothing refers to the record's separate tape, and the record is not accepted.
      this.#queue.push(tape, performance.now());
    }
    this.#pendingRecords += 1;
    ledger.accepted += 1;
    ledger.bytesRecorded += length;
    if (openRun !== undefined) {
      openRuns?.take(openRun);
      openRuns?.forget(openRun);
    }
    return undefined;
  }

  /** Keeps the closed record of a run that has not ended, and evicts the oldest open runs beyond the limits. */
  #keepOpen(
    writer: TapeWriter,
    length: number,
    content: Pick<OpenRecord, "runId" | "isRunStart">,
  ): LossReason | undefined {
    const { ledger, openRuns } = this.#options;
    if (openRuns?.canHold(length) !== true) {
      return "openLimit";
    }
    while (this.heldBytes + openRuns.measure(length) > this.#options.maxQueueBytes) {
      if (!this.#evictOldest()) {
        return "queueFull";
      }
    }
    ledger.countTruncated("field", writer.truncatedFieldCount);
    openRuns.add({ ...content, bytes: writer.copyRecord(length) });
    this.#pendingRecords += 1;
    ledger.accepted += 1;
    ledger.bytesRecorded += length;
    while (openRuns.isOverLimit) {
      this.#loseOldestOpenRun("openLimit");
    }
    return undefined;
  }

  /** Evicts the open run that started first, and counts its records as lost. Returns false if no run is open. */
  #loseOldestOpenRun(reason: LossReason): boolean {
    const run = this.#options.openRuns?.evictOldest();
    if (run === undefined) {
      return false;
    }
    const records = run.count;
    this.#options.ledger.countLost(reason, records);
    this.#pendingRecords -= records;
    this.#unreportedCounts.lost += records;
    this.#unreportedCounts.runsLost += run.starts;
    return true;
  }

  /**
   * Queues the open tape (the buffer to which records are appended) and returns an empty one. Called when the open tape
   * is full in the middle of a record.
   */
  #replaceFullTape(...sizeArguments: Parameters<ProvideTape>): Tape {
    const nextTape = this.#allocateTape(...sizeArguments);
    const fullTape = this.#openTape;
    if (fullTape !== undefined && fullTape.records > 0) {
      this.#cutTimer.requestTurn();
      this.#cut(fullTape, nextTape);
      return nextTape;
    }
    this.#openTape = nextTape;
    if (fullTape !== undefined) {
      this.#tapePool.recycle(fullTape);
    }
    return nextTape;
  }

  /**
   * Returns a tape with capacity for a record of `minBytes` bytes. Evicts waiting tapes if the overflow policy allows
   * it; throws {@link CapacityExceeded} if `maxQueueBytes` would still be exceeded.
   */
  #allocateTape(...[minBytes, isExact]: Parameters<ProvideTape>): Tape {
    const { tapeBytes, maxQueueBytes } = this.#options;
    // A record larger than a tape may still grow. Allocating half as much again avoids a copy at each step.
    const largeCapacity = isExact ? minBytes : Math.ceil(minBytes * 1.5) + tapeBytes;
    const capacity = minBytes > tapeBytes ? largeCapacity : tapeBytes;
    while (this.heldBytes + minBytes > maxQueueBytes) {
      // A record larger than the whole queue is lost alone and evicts nothing.
      if (minBytes > maxQueueBytes || !this.#evictOldest()) {
        throw new CapacityExceeded();
      }
    }
    const freeBytes = Math.max(minBytes, maxQueueBytes - this.heldBytes);
    return this.#tapePool.take(capacity > tapeBytes ? Math.min(capacity, freeBytes) : capacity);
  }

  /**
   * Called before a record is added to the open tape. Requests a turn of the event loop if the timer is not set, or
   * if the record completes a batch that is to be sent early.
   */
  #schedule(): void {
    if (!this.#cutTimer.isSet || this.#shouldSendEarly(1)) {
      this.#cutTimer.requestTurn();
    }
  }

  /**
   * Whether the open tape, with `addedRecords` more records, is sent before its delay is over. This applies to a full
   * batch on the first tape after a quiet period. If the queue is at least half full, it applies to every tape, so that
   * callers do not wait for capacity longer than necessary.
   */
  #shouldSendEarly(addedRecords: number): boolean {
    const { batchLimit, maxQueueRecords } = this.#options;
    return (
      (this.#openTape?.records ?? 0) + addedRecords >= batchLimit &&
      this.#queue.isIdle &&
      (this.#isFirstTape || 2 * (this.#pendingRecords + addedRecords) >= maxQueueRecords)
    );
  }

  /** Runs in the turn after a record was added or a tape was cut: sends the tapes that are due, or sets the timer. */
  #onTurn(): void {
    const records = this.#openTape?.records ?? 0;
    const delayMs = records > 0 && !this.#cutTimer.isSet ? this.#takeDelayMs() : undefined;
    if (this.#shouldSendEarly(0)) {
      this.#cutTimer.setDue();
    } else if (delayMs !== undefined) {
      this.#cutTimer.setAfter(delayMs);
    }
    this.#sendDueTapes();
    this.#options.ledger.countUncountedLosses();
  }

  /**
   * Returns how long the first record of the open tape waits, and determines how long that of the next tape will wait.
   */
  #takeDelayMs(): number {
    const { firstDelayMs, aggregationDelayMs, maxDelayMs } = this.#options;
    this.#isFirstTape = this.#queue.isIdle && performance.now() - this.#lastCutAt > firstDelayMs;
    if (this.#isFirstTape) {
      this.#trafficDelayMs = aggregationDelayMs;
      return firstDelayMs;
    }
    const delayMs = this.#trafficDelayMs;
    this.#trafficDelayMs = Math.max(aggregationDelayMs, Math.min(2 * delayMs, maxDelayMs));
    return delayMs;
  }

  /**
   * Cuts the open tape now, so that it gets no more records, even if the maximum number of tapes is in flight. Returns
   * false if it has no records, or if one is being written.
   */
  #cutOpenTape(): boolean {
    const tape = this.#openTape;
    if (tape === undefined || tape.records === 0 || this.#isEncoding) {
      return false;
    }
    this.#cut(tape, undefined);
    return true;
  }

  /**
   * Queues the open tape (the buffer to which records are appended) and makes `next` the open tape. If it throws, the
   * old tape stays open.
   */
  #cut(tapeToCut: Tape, next: Tape | undefined): void {
    this.#cutTimer.restart();
    const now = performance.now();
    this.#queue.push(tapeToCut, now);
    // Keep this assignment next to the push: an interruption in between would leave a queued tape open for writing.
    this.#openTape = next;
    this.#lastCutAt = now;
    tapeToCut.sealJournal();
  }

  /**
   * Sends waiting tapes while the limits of tapes in flight allow it, and then the open tape if its delay has elapsed.
   * A call that records a run must not call this: if an exhausted stack interrupted it, a tape would be neither sent
   * nor counted.
   */
  #sendDueTapes(): void {
    this.#queue.sendWaiting();
    const tape = this.#openTape;
    if (
      tape !== undefined &&
      this.#cutTimer.isDue &&
      this.#queue.canSendNow(tape) &&
      this.#cutOpenTape()
    ) {
      this.#queue.sendWaiting();
    }
  }

  #onSettled({ shipment, count }: SettledShipment): void {
    this.#options.ledger.countUncountedLosses();
    if (shipment.waitingFlushes === 0) {
      this.#unreportedCounts.add(count);
    }
    this.#pendingRecords -= shipment.tape.records;
    this.#tapePool.release(shipment.tape);
    this.#sendDueTapes();
    this.#capacityWaiters.admitIfCapacity();
  }
}

/** Options of a {@link Batcher}. */
export interface BatcherOptions {
  readonly tapeBytes: number;
  readonly maxQueueBytes: number;
  readonly maxQueueRecords: number;
  /** Largest size of one field of a record, in bytes. A longer field is truncated. */
  readonly fieldBytes: number;
  readonly batchLimit: number;
  readonly firstDelayMs: number;
  readonly aggregationDelayMs: number;
  readonly maxDelayMs: number;
  /** Maximum number of tapes (buffers of records) in flight: sent, but without a known outcome. */
  readonly maxTapesInFlight: number;
  /** Maximum bytes of the tapes in flight, each counted with its whole buffer. A larger tape is sent alone. */
  readonly maxBytesInFlight: number;
  readonly filters: PayloadFilters;
  readonly attachments: AttachmentRules;
  readonly exchanges?: ExchangeRules;
  readonly ledger: Ledger;
  /** Decides which records are evicted or refused when the queue is full. */
  readonly overflow: OverflowPolicy;
  /**
   * Writes the records of a waiting tape to disk and counts them as spooled, or as lost if that fails. Used with the
   * overflow policy `spool`.
   */
  readonly spoolTape: (tape: Tape) => void;
  /**
   * Opens a journal, the file on disk to which the records of a tape are written. If present, each record is on disk
   * before the call that recorded it returns.
   */
  readonly openJournal?: () => Journal;
  /**
   * Keeps the runs that have not ended; present if a tape may contain only whole runs. If absent, records of a run are
   * queued before the run has ended.
   */
  readonly openRuns?: OpenRuns | undefined;
  /** Sends a tape. The promise resolves when the outcome of each of its records is known, and never rejects. */
  readonly sendTape: (tape: Tape) => Promise<TapeResult>;
}

/** Which tapes a flush waits for, and when it stops waiting early. */
interface FlushLimits {
  /** `recorded` leaves out the tapes that were read from the spool. @defaultValue `all` */
  readonly tapeSelection?: "all" | "recorded";
  /** Resolves when waiting longer is pointless, because the server was never reached. */
  readonly unreachable?: Promise<void> | undefined;
}
