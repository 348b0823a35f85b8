import type { Environment } from "../model/options/environment.ts";
import { sendsNothing } from "../model/options/options.ts";
import type { ResolvedOptions } from "../model/options/options.ts";
import type { Operation } from "../model/run.ts";
import type { ClientStats, FlushResult, Logger } from "../model/stats.ts";
import { attachmentKeys } from "../tracing/tape/attachment-writer.ts";
import { Batcher } from "../tracing/queue/batcher.ts";
import type { Shipment, TapeResult } from "../tracing/queue/shipment.ts";
import { PayloadFilters } from "../tracing/tape/payload-filters.ts";
import { SharedTraffic } from "../model/records/shared-traffic.ts";
import { Ledger } from "../tracing/queue/ledger.ts";
import { encodeEnd, encodeStart, encodeWire } from "../tracing/tape/record-encoder.ts";
import type { RecordedRun, Recorder, WarningKind } from "../tracing/tape/recorder.ts";
import { NextTurn } from "../model/next-turn.ts";
import { sumOfResults } from "../tracing/queue/flush-counts.ts";
import { createSampler, traceIdOf } from "../tracing/runs/sampling.ts";
import type { Journal, Tape } from "../tracing/tape/tape.ts";
import { warnOfUnknown } from "../tracing/runs/unknown-options.ts";
import { WorkerPool } from "../workers/host/pool.ts";
import type { Spool } from "../workers/spool/spool.ts";
import { collectStats } from "./client-stats.ts";
import { DeliveryFailures } from "./delivery-failures.ts";
import { Delivery } from "./delivery.ts";
import type { Endable } from "./lifecycle.ts";
import { openSpool } from "./open-spool.ts";
import type { Storage } from "./open-spool.ts";
import { PendingStore } from "./pending-store.ts";
import { isUnreached, waitForTapes, waitWhileReachable } from "./reach.ts";
import { Replay } from "./replay.ts";
import { cutTexts, logFaults, Reporter } from "./reporter.ts";
import { StatsReports } from "./stats-reports.ts";
import { shippingOf, workerEnvironment } from "./shipping-options.ts";

export interface RecordingExtras {
  readonly headers: Readonly<Record<string, string>>;
  readonly logger: Logger;
}

/** The recording half of a client: composes the queue, the workers, the spool and the counters. */
export class Recording implements Recorder, Endable {
  readonly projectName: string;
  readonly recursionLimit: number;
  readonly attachmentBytes: number;
  readonly #options: ResolvedOptions;
  /**
   * Whether sending is allowed: the variables with the server's address and credentials are valid.
   */
  readonly #maySend: boolean;
  readonly #reporter: Reporter;
  readonly #ledger: Ledger;
  readonly #batcher: Batcher;
  readonly #delivery: Delivery;
  readonly #pool: WorkerPool;
  readonly #reports: StatsReports;
  readonly #storage: Storage | undefined;
  readonly #replay: Replay | undefined;
  readonly #replayTurn = new NextTurn(() => this.#replay?.wake());
  readonly #traffic = new SharedTraffic();
  readonly #failures: DeliveryFailures;
  readonly #pendingStore: PendingStore | undefined;
  readonly #isSampledTrace: (traceId: string) => boolean;
  /** Whether the event loop was empty and pending records were waited for. */
  #isEndingNaturally = false;
  #ended = false;

  constructor(options: ResolvedOptions, { headers, logger }: RecordingExtras, env: Environment) {
    this.#options = options;
    this.projectName = options.projectName;
    this.recursionLimit = options.recursionLimit;
    this.attachmentBytes = computeAttachmentBytes(options);
    this.#isSampledTrace = createSampler(options.samplingRate);
    this.#failures = new DeliveryFailures(this.#traffic, options);
    this.#reporter = new Reporter(logger, Date.now, {
      options,
      lastFailure: () => this.#failures.text,
    });
    this.#maySend = sendsNothing(options) === undefined;
    this.#ledger = new Ledger(
      (reason, records) => this.#reporter.reportLoss(reason, records),
      (reason) => this.#reporter.logLater(`cut ${reason}`, cutTexts[reason]),
    );
    this.#storage = openSpool(options, this.#ledger, this.#reporter);
    this.#pool = new WorkerPool({
      threads: options.workers,
      shipping: shippingOf(options, headers, this.#traffic),
      stallMs: options.workerStallMs,
      env: workerEnvironment(env),
      onFailure: (tapeId) => this.#onFailure(tapeId),
      onStuck: () => {
        this.warn(
          "workerStuck",
          `A worker did not respond for ${options.workerStallMs} ms and was replaced`,
        );
      },
      onInline: (reason) => {
        this.#reporter.log(
          "inline",
          () => `No worker can start, so the main thread sends records: ${reason}`,
        );
      },
    });
    this.#reports = new StatsReports({
      projectName: options.projectName,
      stats: () => this.stats(),
      send: (report) => this.#pool.report(report),
    });
    this.#delivery = new Delivery({
      maySend: this.#maySend,
      shipper: this.#pool,
      ledger: this.#ledger,
      reporter: this.#reporter,
      spool: this.#storage?.spool,
      deadLetters: this.#storage?.deadLetters,
      // The worker's message about the refusal may arrive after its report.
      onRefused: () => this.#failures.log(this.#reporter),
      onSpooled: () => this.#replayTurn.request(),
      onServer: ({ senderStats }) => {
        if (senderStats && options.reportStats) {
          this.#reports.start();
        }
      },
    });
    this.#batcher = new Batcher({
      ...options,
      ...computeTapeLimits(options),
      // In a small queue large fields are truncated. Otherwise the whole record would be lost.
      fieldBytes: Math.min(options.maxFieldBytes, Math.floor(options.maxQueueBytes / 4)),
      filters: new PayloadFilters(options, (message) => this.warn("hiddenFailure", message)),
      attachments: {
        attachmentBytes: this.attachmentBytes,
        dangerouslyAllowFilesystem: options.dangerouslyAllowFilesystem,
        checkKeys: (attachment) => warnOfUnknown(attachment, attachmentKeys, this),
        onLeftOut: (message) => this.warn("attachmentLeftOut", message),
      },
      ledger: this.#ledger,
      ship: (tape) => this.#ship(tape),
      ...(options.durability === "spool-first" ? toJournalOption(this.#storage?.spool) : {}),
      spill: (tape) => this.#delivery.settleNow(tape, "queueFull"),
    });
    this.#pendingStore = PendingStore.create(this.#storage?.spool, this.#delivery, this.#batcher);
    this.#replay = this.#storage === undefined ? undefined : this.#createReplay(this.#storage);
    this.#start(logger);
  }

  /** Logs faults of the environment variables, and starts to send records of earlier processes. */
  #start(logger: Logger): void {
    const { faults, logLevel, enabled } = this.#options;
    logFaults(faults, logger, logLevel);
    for (const _ of faults) {
      this.#ledger.warn("badVariable");
    }
    this.#reporter.logStart(this.#options);
    if (enabled && this.#maySend) {
      this.#replay?.start();
    }
  }

  isSampled(traceId: string): boolean {
    if (!this.#options.enabled) {
      return false;
    }
    const sampled = this.#isSampledTrace(traceId);
    this.#ledger.sampledOut += sampled ? 0 : 1;
    return sampled;
  }

  recordStart(run: RecordedRun): void {
    this.#batcher.record(encodeStart, run);
  }

  recordEnd(run: RecordedRun): void {
    this.#batcher.record(encodeEnd, run);
  }

  /** Records a run in the wire format. A malformed run is counted as `invalid`. */
  recordWire(operation: Operation, id: unknown, run: unknown): void {
    if (this.#options.enabled && this.#isSampledTrace(traceIdOf(id, run))) {
      this.#batcher.record(encodeWire, { operation, id, run, projectName: this.projectName });
    }
  }

  truncated(): void {
    this.#ledger.cut("field", 1);
  }

  warn(kind: WarningKind, message: string): void {
    this.#ledger.warn(kind);
    // Each unknown option is logged separately, even if several occur within a minute.
    this.#reporter.logLater(kind === "unknownOption" ? message : kind, message);
  }

  /**
   * Waits at most `timeoutMs`; by default `drainTimeoutMs`, or less if the server was never
   * reached.
   */
  async flush(timeoutMs?: number): Promise<FlushResult> {
    const result = await this.#flush(timeoutMs);
    if (result.pending > 0) {
      await this.#pendingStore?.storeAll();
    }
    return result;
  }

  #flush(timeoutMs?: number, which: "all" | "recorded" = "all"): Promise<FlushResult> {
    const { drainTimeoutMs, sources } = this.#options;
    if (timeoutMs !== undefined || sources.has("drainTimeoutMs")) {
      return this.#batcher.flush(timeoutMs ?? drainTimeoutMs, { which });
    }
    return waitWhileReachable(this.#traffic, (unreachable) =>
      this.#batcher.flush(drainTimeoutMs, { which, hopeless: unreachable }),
    );
  }

  /** Whether a process end stops waiting because the server was never reached. */
  get #isUnreached(): boolean {
    return !this.#options.sources.has("drainTimeoutMs") && isUnreached(this.#traffic);
  }

  waitForCapacity(timeoutMs: number): Promise<boolean> {
    return this.#batcher.waitForCapacity(timeoutMs);
  }

  drain(timeoutMs?: number): Promise<FlushResult> {
    this.#batcher.refuse();
    return this.flush(timeoutMs);
  }

  async close(timeoutMs?: number): Promise<FlushResult> {
    const { delivered, lost, runs } = await this.drain(timeoutMs);
    this.#settleAll([]);
    await this.#pool.close();
    const inTime = { delivered, lost, pending: 0, runs: { ...runs, pending: 0 } };
    return sumOfResults([inTime, this.#batcher.takeResult()]);
  }

  stats(): ClientStats {
    this.#ledger.flushUncounted();
    return collectStats({
      ledger: this.#ledger,
      traffic: this.#traffic,
      pending: this.#batcher.pending,
      deliveryMs: this.#delivery.latency,
      server: this.#delivery.server,
      lastFailure: this.#failures.last,
    });
  }

  hasPending(): boolean {
    return this.#batcher.pending > 0;
  }

  async onNaturalEnd(): Promise<void> {
    const { drainTimeoutMs, exitTimeoutMs } = this.#options;
    const recorded = await this.#flush(undefined, "recorded");
    const isUnreachable = recorded.pending > 0 && this.#isUnreached;
    // Records from the spool are safe on disk, so they get no more time than at a forced end.
    const { pending } = await this.#batcher.flush(
      isUnreachable ? 0 : Math.min(exitTimeoutMs, drainTimeoutMs),
    );
    this.#isEndingNaturally = true;
    if (pending > 0 && !this.#pool.threaded) {
      // Sockets of this thread would keep the process alive longer than allowed.
      await this.#pool.close();
    }
  }

  /**
   * Posts every queued tape to the workers and blocks until all outcomes are written or the time
   * limit is reached. The workers continue while this thread is blocked in the event `exit` of the
   * process.
   */
  onForcedEnd(): void {
    if (this.#batcher.pending === 0) {
      this.#settleAll([]);
      return;
    }
    const { inFlight, waiting } = this.#batcher.takeAll();
    const shipments = [...inFlight, ...waiting];
    const wasWaitedFor = this.#isEndingNaturally && this.#isUnreached;
    if (this.#pool.threaded && this.#maySend && !wasWaitedFor) {
      for (const { tape } of waiting) {
        // Its outcome is read from the tape below.
        this.#pool.ship({ memory: tape.memory, used: tape.used }).catch(() => undefined);
      }
      const tapes = shipments.map(({ tape }) => tape);
      waitForTapes(tapes, this.#traffic, this.#options.exitTimeoutMs);
    }
    this.#settleAll(shipments);
  }

  /** Counts all remaining records. Later records are not counted. */
  #settleAll(shipments: readonly Shipment[]): void {
    if (this.#ended) {
      return;
    }
    this.#ended = true;
    this.#failures.reportUnknownServer(this.#ledger, this.#reporter);
    this.#pendingStore?.end();
    this.#delivery.end();
    this.#reports.end();
    this.#replay?.end();
    const { inFlight, waiting } = this.#batcher.takeAll();
    const remaining = [...shipments, ...inFlight, ...waiting];
    if (remaining.some(({ tape }) => !tape.isReplayed)) {
      this.#failures.recordMissingResponse();
      this.#failures.log(this.#reporter, { isEnd: true });
    }
    for (const shipment of remaining) {
      const reason = this.#maySend ? "closed" : "misconfigured";
      this.#batcher.settle(shipment, this.#delivery.settleNow(shipment.tape, reason));
    }
    this.#ledger.flushUncounted();
    this.#storage?.spool.close();
    this.#storage?.deadLetters.close();
    this.#reporter.logRemaining();
  }

  async #ship(tape: Tape): Promise<TapeResult> {
    const result = await this.#delivery.ship(tape);
    this.#failures.reportUnknownServer(this.#ledger, this.#reporter);
    return result;
  }

  #onFailure(tapeId: number): void {
    if (!this.#ended) {
      this.#delivery.markFailing(tapeId);
      this.#failures.log(this.#reporter);
      this.#pendingStore?.scheduleWrite();
    }
  }

  /** Resolves when the spool is empty for the first time; `undefined` without a spool. */
  get caughtUp(): Promise<void> | undefined {
    return this.#replay?.caughtUp;
  }

  #createReplay(storage: Storage): Replay {
    const { maxQueueBytes, maxQueueRecords, replayBytesPerSecond } = this.#options;
    return new Replay({
      ...storage,
      ledger: this.#ledger,
      reporter: this.#reporter,
      bytesPerSecond: replayBytesPerSecond,
      enqueueReplayed: (tape) => this.#batcher.enqueueReplayed(tape),
      hasCapacity: () =>
        this.#batcher.queuedBytes <= maxQueueBytes / 2 &&
        this.#batcher.pending <= maxQueueRecords / 2,
    });
  }
}

/**
 * Computes the size of tapes and how many may be sent at the same time, so that tapes in flight
 * take at most half of the queue's memory. A small queue has small tapes, and capacity for queued
 * ones.
 */
function computeTapeLimits({ tapeBytes, maxQueueBytes, requestsInFlight }: ResolvedOptions): {
  readonly tapeBytes: number;
  readonly slots: number;
} {
  const inFlightBytes = Math.floor(maxQueueBytes / 2);
  const share = Math.max(minTapeBytes, Math.floor(inFlightBytes / requestsInFlight));
  const size = Math.min(tapeBytes, share);
  return { tapeBytes: size, slots: Math.min(requestsInFlight, Math.floor(inFlightBytes / size)) };
}

/** Minimum size of a tape in bytes: enough for a record with a few small fields. */
const minTapeBytes = 4_096;

/**
 * Limits attachments to half of the queue. Otherwise a large attachment would cause the loss of its
 * record.
 */
const computeAttachmentBytes = ({ maxAttachmentBytes, maxQueueBytes }: ResolvedOptions): number =>
  Math.min(maxAttachmentBytes, Math.floor(maxQueueBytes / 2));

const toJournalOption = (spool: Spool | undefined): { readonly journal?: () => Journal } =>
  spool === undefined ? {} : { journal: () => spool.journal() };
