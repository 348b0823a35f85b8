import type { Environment } from "../model/options/environment.ts";
import { findSendingProblem } from "../model/options/options.ts";
import type { ResolvedOptions } from "../model/options/options.ts";
import type { Operation } from "../model/run.ts";
import type { RecordingStats, FlushResult, Logger } from "../model/stats.ts";
import { attachmentKeys } from "../tracing/tape/attachment-writer.ts";
import { Batcher } from "../tracing/queue/batcher.ts";
import { OpenRuns } from "../tracing/queue/open-runs.ts";
import type { Shipment, TapeResult } from "../tracing/queue/shipment.ts";
import { PayloadFilters } from "../tracing/tape/payload-filters.ts";
import { SharedTraffic } from "../model/records/shared-traffic.ts";
import { Ledger } from "../tracing/queue/ledger.ts";
import {
  encodeEnd,
  encodeExchange,
  encodeStart,
  encodeWire,
} from "../tracing/tape/record-encoder.ts";
import type {
  ExchangeRecord,
  RecordedRun,
  Recorder,
  WarningKind,
} from "../tracing/tape/recorder.ts";
import { NextTurn } from "../model/next-turn.ts";
import { sumResults } from "../tracing/queue/flush-counts.ts";
import { endUnreadExchanges, hasUnreadExchanges } from "../tracing/runs/exchange-run.ts";
import { createSampler, readTraceId } from "../tracing/runs/sampling.ts";
import type { Journal, Tape } from "../tracing/tape/tape.ts";
import { warnOfUnknown } from "../tracing/runs/unknown-options.ts";
import { WorkerPool } from "../workers/host/pool.ts";
import type { Spool } from "../workers/spool/spool.ts";
import { collectStats } from "./client-stats.ts";
import { DeliveryFailures } from "./delivery-failures.ts";
import { Delivery } from "./delivery.ts";
import type { EndListener } from "./lifecycle.ts";
import { openSpool } from "./open-spool.ts";
import type { ClientStorage } from "./open-spool.ts";
import { createPropagationFilter } from "./propagation-filter.ts";
import { PendingStore } from "./pending-store.ts";
import { isUnreached, waitForTapes, waitWhileReachable } from "./reach.ts";
import { Replay } from "./replay.ts";
import { describeTruncation, logFaults, Reporter } from "./reporter.ts";
import { StatsReports } from "./stats-reports.ts";
import { createExchangeRules } from "./exchange-rules.ts";
import {
  createRedactionPlan,
  createWorkerEnvironment,
  selectShippingOptions,
} from "./shipping-options.ts";

/** Settings of a client that can't be set by an environment variable. */
export interface RecordingContext {
  readonly headers: Readonly<Record<string, string>>;
  readonly logger: Logger;
}

/** The part of a client that records and delivers runs. It creates and connects queue, workers, spool and counters. */
export class Recording implements Recorder, EndListener {
  readonly projectName: string;
  readonly attachmentBytes: number;
  readonly exchangeBytes: number;
  readonly filtersOutputs: boolean;
  readonly filterPropagated: Recorder["filterPropagated"];
  readonly #options: ResolvedOptions;
  /**
   * Whether the environment variables with the server's address and credentials are valid. If they are not, nothing is
   * sent.
   */
  readonly #isSendingAllowed: boolean;
  readonly #reporter: Reporter;
  readonly #ledger: Ledger;
  readonly #batcher: Batcher;
  readonly #delivery: Delivery;
  readonly #workerPool: WorkerPool;
  readonly #statsReports: StatsReports;
  readonly #storage: ClientStorage | undefined;
  readonly #replay: Replay | undefined;
  readonly #replayWakeTurn = new NextTurn(() => this.#replay?.checkSpool());
  readonly #traffic = new SharedTraffic();
  readonly #failures: DeliveryFailures;
  readonly #pendingStore: PendingStore | undefined;
  readonly #isSampledTrace: (traceId: string) => boolean;
  /** Whether the client has already waited for pending records, because the process's event loop was empty. */
  #hasWaitedAtEnd = false;
  #hasEnded = false;

  constructor(options: ResolvedOptions, { headers, logger }: RecordingContext, env: Environment) {
    this.#options = options;
    this.projectName = options.projectName;
    this.attachmentBytes = computeMaxAttachmentBytes(options);
    // If the queue is small, large fields are truncated. Otherwise the whole record would be lost.
    this.exchangeBytes = Math.min(options.maxFieldBytes, Math.floor(options.maxQueueBytes / 4));
    this.#isSampledTrace = createSampler(options.samplingRate);
    this.#failures = new DeliveryFailures(this.#traffic, options);
    this.#reporter = new Reporter(logger, Date.now, {
      options,
      describeLastFailure: () => this.#failures.lastFailureText,
    });
    this.#isSendingAllowed = findSendingProblem(options) === undefined;
    this.#ledger = new Ledger(
      (reason, records) => this.#reporter.reportLoss(reason, records),
      (reason) =>
        this.#reporter.logLater(
          `cut ${reason}`,
          describeTruncation(reason, options.otlp !== undefined),
        ),
    );
    this.#storage = openSpool(options, this.#ledger, this.#reporter);
    this.#workerPool = new WorkerPool({
      threads: options.workers,
      shipping: selectShippingOptions(options, headers, this.#traffic),
      stallMs: options.workerStallMs,
      env: createWorkerEnvironment(env),
      onFailure: (tapeId) => this.#onFailure(tapeId),
      onStuck: () => {
        this.warn(
          "workerStuck",
          `A worker did not respond for ${options.workerStallMs} ms and was replaced`,
        );
      },
      onInlineMode: (reason) => {
        this.#reporter.log(
          "inline",
          () => `No worker can start, so the main thread sends records: ${reason}`,
        );
      },
    });
    this.#statsReports = new StatsReports({
      projectName: options.projectName,
      readStats: () => this.stats(),
      send: (report) => this.#workerPool.report(report),
    });
    this.#delivery = new Delivery({
      isSendingAllowed: this.#isSendingAllowed,
      shipper: this.#workerPool,
      ledger: this.#ledger,
      reporter: this.#reporter,
      spool: this.#storage?.spool,
      deadLetters: this.#storage?.deadLetters,
      // The failures are logged again, because the worker's message with the reason may arrive after the batch was
      // reported as refused.
      onRefused: () => this.#failures.log(this.#reporter),
      onSpooled: () => this.#replayWakeTurn.request(),
      onServerInfo: ({ senderStats }) => {
        if (senderStats && options.reportStats) {
          this.#statsReports.start();
        }
      },
    });
    const filters = new PayloadFilters(options, (message) => this.warn("hiddenFailure", message));
    this.filtersOutputs = filters.filtersOutputs;
    this.filterPropagated = createPropagationFilter({
      filters,
      plan: createRedactionPlan(options),
      onFailure: () => {
        this.#ledger.countWarning("redactionFailure");
        this.#reporter.logLater(
          "redactionFailure headers",
          "Tags and metadata were left out of request headers: the rules of the option redact could not be applied, or they are too long.",
        );
      },
    });
    this.#batcher = new Batcher({
      ...options,
      ...computeTapeLimits(options),
      fieldBytes: this.exchangeBytes,
      filters,
      exchanges: createExchangeRules({
        mustRead:
          filters.hasFunction ||
          (this.#storage !== undefined && createRedactionPlan(options) !== undefined),
        hidesPayloads: filters.hidesAllInputs || filters.hidesAllOutputs,
        onFailure: () =>
          this.warn(
            "hiddenFailure",
            "The code that reads recorded model calls could not be loaded; markers are recorded in place of their inputs and outputs.",
          ),
      }),
      attachments: {
        attachmentBytes: this.attachmentBytes,
        dangerouslyAllowFilesystem: options.dangerouslyAllowFilesystem,
        checkKeys: (attachment) => warnOfUnknown(attachment, attachmentKeys, this),
        onOmitted: (message) => this.warn("attachmentLeftOut", message),
        onRenamed: (message) => this.warn("attachmentRenamed", message),
      },
      ledger: this.#ledger,
      openRuns: options.otlp === undefined ? undefined : createOpenRuns(options),
      sendTape: (tape) => this.#sendTape(tape),
      ...(options.durability === "spool-first" ? toJournalOption(this.#storage?.spool) : {}),
      spoolTape: (tape) => this.#delivery.settleNow(tape, "queueFull"),
    });
    this.#pendingStore = PendingStore.create(this.#storage?.spool, this.#delivery, this.#batcher);
    this.#replay = this.#storage === undefined ? undefined : this.#createReplay(this.#storage);
    this.#start(logger);
  }

  /** Logs invalid environment variables, and starts to send the records that earlier processes left on disk. */
  #start(logger: Logger): void {
    const { environmentFaults, logLevel, enabled } = this.#options;
    logFaults(environmentFaults, logger, logLevel);
    for (const _ of environmentFaults) {
      this.#ledger.countWarning("badVariable");
    }
    this.#reporter.logStart(this.#options);
    if (enabled && this.#isSendingAllowed) {
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

  recordExchange(record: ExchangeRecord): void {
    this.#batcher.record(encodeExchange, record);
  }

  /** Records a run in the wire format. A malformed run is counted as lost with the reason `invalid`. */
  recordWire(operation: Operation, id: unknown, run: unknown): void {
    if (this.#options.enabled && this.#isSampledTrace(readTraceId(id, run))) {
      this.#batcher.record(encodeWire, { operation, id, run, projectName: this.projectName });
    }
  }

  truncated(): void {
    this.#ledger.countTruncated("field", 1);
  }

  warn(kind: WarningKind, message: string): void {
    this.#ledger.countWarning(kind);
    // Each unknown option is logged separately, even if several occur within `logRepeatMs`.
    this.#reporter.logLater(kind === "unknownOption" ? message : kind, message);
  }

  /**
   * Sends everything that was recorded and waits for the outcomes, at most `timeoutMs`. The default is
   * `drainTimeoutMs`, or less if the server was never reached.
   */
  async flush(timeoutMs?: number): Promise<FlushResult> {
    const result = await this.#flushTapes(timeoutMs);
    if (result.pending > 0) {
      await this.#pendingStore?.writeAll();
    }
    return result;
  }

  async #flushTapes(
    timeoutMs?: number,
    tapeSelection: "all" | "recorded" = "all",
  ): Promise<FlushResult> {
    const { drainTimeoutMs, sources } = this.#options;
    endUnreadExchanges(this);
    const endFlush = this.#workerPool.expectEnd();
    try {
      if (timeoutMs !== undefined || sources.has("drainTimeoutMs")) {
        return await this.#batcher.flush(timeoutMs ?? drainTimeoutMs, { tapeSelection });
      }
      return await waitWhileReachable(this.#traffic, (unreachable) =>
        this.#batcher.flush(drainTimeoutMs, { tapeSelection, unreachable }),
      );
    } finally {
      endFlush();
    }
  }

  /** Whether a process that ends may stop waiting, because the server was never reached. */
  get #isUnreached(): boolean {
    return !this.#options.sources.has("drainTimeoutMs") && isUnreached(this.#traffic);
  }

  waitForCapacity(timeoutMs: number): Promise<boolean> {
    return this.#batcher.waitForCapacity(timeoutMs);
  }

  drain(timeoutMs?: number): Promise<FlushResult> {
    endUnreadExchanges(this);
    this.#batcher.refuseRecords();
    return this.flush(timeoutMs);
  }

  async close(timeoutMs?: number): Promise<FlushResult> {
    const { delivered, lost, runs } = await this.drain(timeoutMs);
    this.#settleAll([]);
    await this.#workerPool.close();
    const drainedResult = { delivered, lost, pending: 0, runs: { ...runs, pending: 0 } };
    return sumResults([drainedResult, this.#batcher.takeResult()]);
  }

  stats(): RecordingStats {
    this.#ledger.countUncountedLosses();
    return collectStats({
      ledger: this.#ledger,
      traffic: this.#traffic,
      pendingRecords: this.#batcher.pending,
      deliveryMs: this.#delivery.latency,
      server: this.#delivery.serverInfo,
      lastFailure: this.#failures.lastFailure,
    });
  }

  hasPending(): boolean {
    return this.#batcher.sendable > 0 || hasUnreadExchanges(this);
  }

  async onNaturalEnd(): Promise<void> {
    const { drainTimeoutMs, exitTimeoutMs } = this.#options;
    const recordedFlushResult = await this.#flushTapes(undefined, "recorded");
    const openRecords = this.#batcher.pending - this.#batcher.sendable;
    const isUnreachable = recordedFlushResult.pending > openRecords && this.#isUnreached;
    // Records from the spool are safe on disk, so they get no more time than at a forced end.
    const { pending } = await this.#batcher.flush(
      isUnreachable ? 0 : Math.min(exitTimeoutMs, drainTimeoutMs),
    );
    this.#hasWaitedAtEnd = true;
    if (pending > openRecords && this.#workerPool.isSendingHere) {
      // Sockets of this thread would keep the process alive longer than allowed.
      await this.#workerPool.close();
    }
  }

  /**
   * Posts every queued tape (a buffer of recorded runs) to the workers, and blocks until all outcomes are written or
   * the time limit is reached. The workers continue while this thread is blocked in the event `exit` of the process.
   */
  onForcedEnd(): void {
    endUnreadExchanges(this);
    this.#deliverAtForcedEnd();
    this.#reporter.endWithProcess();
  }

  #deliverAtForcedEnd(): void {
    if (this.#batcher.pending === 0) {
      this.#settleAll([]);
      return;
    }
    const { inFlight, waiting } = this.#batcher.takeAll();
    const shipments = [...inFlight, ...waiting];
    const wasWaitedFor = this.#hasWaitedAtEnd && this.#isUnreached;
    const tasks = waiting.map(({ tape: { memory, usedBytes } }) => ({ memory, usedBytes }));
    const canSend = this.#workerPool.isThreaded && this.#isSendingAllowed && !wasWaitedFor;
    if (canSend && this.#workerPool.shipAtExit(tasks)) {
      const tapes = shipments.map(({ tape }) => tape);
      waitForTapes(tapes, this.#traffic, this.#options.exitTimeoutMs);
    }
    this.#settleAll(shipments);
  }

  /** Counts the outcome of each remaining record, and ends sending and storing. Later calls have no effect. */
  #settleAll(shipments: readonly Shipment[]): void {
    if (this.#hasEnded) {
      return;
    }
    this.#hasEnded = true;
    this.#failures.reportUnknownServer(this.#ledger, this.#reporter);
    this.#pendingStore?.end();
    this.#delivery.end();
    this.#statsReports.end();
    this.#replay?.end();
    const { inFlight, waiting } = this.#batcher.takeAll();
    const remaining = [...shipments, ...inFlight, ...waiting];
    if (remaining.some(({ tape }) => !tape.isReplayed)) {
      this.#failures.recordMissingResponse();
      this.#failures.log(this.#reporter, { isClosing: true });
    }
    for (const shipment of remaining) {
      const reason = this.#isSendingAllowed ? "closed" : "misconfigured";
      this.#batcher.countTakenTape(shipment, this.#delivery.settleNow(shipment.tape, reason));
    }
    this.#ledger.countUncountedLosses();
    this.#storage?.spool.close();
    this.#storage?.deadLetters.close();
    this.#reporter.logRemaining();
  }

  async #sendTape(tape: Tape): Promise<TapeResult> {
    const result = await this.#delivery.ship(tape);
    this.#failures.reportUnknownServer(this.#ledger, this.#reporter);
    return result;
  }

  #onFailure(tapeId: number): void {
    if (!this.#hasEnded) {
      this.#delivery.markFailing(tapeId);
      this.#failures.log(this.#reporter);
      this.#pendingStore?.scheduleWrite();
    }
  }

  /**
   * Resolves when the spool, which keeps undelivered records on disk, is empty for the first time. `undefined` if the
   * client has no spool.
   */
  get caughtUp(): Promise<void> | undefined {
    return this.#replay?.caughtUp;
  }

  #createReplay(storage: ClientStorage): Replay {
    const { maxQueueBytes, maxQueueRecords, replayBytesPerSecond } = this.#options;
    return new Replay({
      ...storage,
      ledger: this.#ledger,
      reporter: this.#reporter,
      bytesPerSecond: replayBytesPerSecond,
      enqueueReplayed: (tape) => this.#batcher.enqueueReplayed(tape),
      hasCapacity: () =>
        this.#batcher.queuedBytes <= maxQueueBytes / 2 &&
        this.#batcher.sendable <= maxQueueRecords / 2,
    });
  }
}

/**
 * Computes the size of the tapes (the buffers of recorded runs) and how many may be sent at the same time, so that
 * tapes in flight take at most half of the queue's memory. The total size of the tapes in flight is limited as well,
 * because a record that does not fit on a tape gets a larger tape of its own. A small queue has small tapes, so that it
 * also has capacity for tapes that wait to be sent.
 */
function computeTapeLimits({ tapeBytes, maxQueueBytes, requestsInFlight }: ResolvedOptions): {
  readonly tapeBytes: number;
  readonly maxTapesInFlight: number;
  readonly maxBytesInFlight: number;
} {
  const maxBytesInFlight = Math.floor(maxQueueBytes / 2);
  const share = Math.max(minTapeBytes, Math.floor(maxBytesInFlight / requestsInFlight));
  const limitedTapeBytes = Math.min(tapeBytes, share);
  return {
    tapeBytes: limitedTapeBytes,
    maxTapesInFlight: Math.min(requestsInFlight, Math.floor(maxBytesInFlight / limitedTapeBytes)),
    maxBytesInFlight,
  };
}

/**
 * Creates the store of the runs that have not ended. It takes at most a quarter of the queue's memory, because tapes in
 * flight may take half of it.
 */
const createOpenRuns = ({ maxQueueBytes, maxQueueRecords }: ResolvedOptions): OpenRuns =>
  new OpenRuns({
    maxBytes: Math.floor(maxQueueBytes / 4),
    maxRuns: Math.ceil(maxQueueRecords / 2),
  });

/** Minimum size of a tape in bytes: enough for a record with a few small fields. */
const minTapeBytes = 4_096;

/**
 * Limits attachments to half of the queue. Otherwise a large attachment would cause the loss of its
 * record.
 */
const computeMaxAttachmentBytes = ({
  maxAttachmentBytes,
  maxQueueBytes,
}: ResolvedOptions): number => Math.min(maxAttachmentBytes, Math.floor(maxQueueBytes / 2));

const toJournalOption = (spool: Spool | undefined): { readonly openJournal?: () => Journal } =>
  spool === undefined ? {} : { openJournal: () => spool.createJournal() };
