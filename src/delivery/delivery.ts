import { setMaxListeners } from "node:events";
import { createHistogram } from "node:perf_hooks";
import type { ServerInfo } from "../model/resources/server-info.ts";
import type { RefusedRun, ShipReport, TapeShipper } from "../model/records/shipping.ts";
import { lossTexts } from "../model/stats.ts";
import type { LossReason, Quantiles } from "../model/stats.ts";

import type { Ledger } from "../tracing/queue/ledger.ts";
import type { TapeResult } from "../tracing/queue/shipment.ts";
import { copyDeadRecords, copyPendingRecords, countOutcomes } from "../tracing/tape/tally.ts";
import type { Tape } from "../tracing/tape/tape.ts";
import type { DeadLetters } from "../workers/spool/dead-letters.ts";
import type { Spool } from "../workers/spool/spool.ts";
import { CrashIsolation } from "./crash-isolation.ts";
import { countRedacted } from "./count-redacted.ts";
import type { Reporter } from "./reporter.ts";

/** Options of {@link Delivery}. */
export interface DeliveryOptions {
  /**
   * Whether sending is allowed. If not, records are written to the spool on disk, or lost if there is none.
   * @defaultValue true
   */
  readonly isSendingAllowed?: boolean;
  readonly shipper: TapeShipper;
  readonly ledger: Ledger;
  readonly reporter: Reporter;
  readonly spool: Spool | undefined;
  /** Stores records that the server refused. */
  readonly deadLetters?: DeadLetters | undefined;
  /** Called before refused runs are logged individually. */
  readonly onRefused?: () => void;
  /** Called when records were written to the spool, which keeps undelivered records on disk. */
  readonly onSpooled?: () => void;
  /** Called with the content of the server's `/info` whenever a worker reports it. */
  readonly onServerInfo?: (server: ServerInfo) => void;
}

/** Why records of a tape (a buffer of recorded runs) were not delivered. */
interface RefusalDetails {
  /** The runs that the server refused, in all rounds of attempts to send the tape. */
  readonly refused: readonly RefusedRun[];
  /** Message of the last failure. */
  readonly detail?: string | undefined;
}

/** The results for a tape once the outcome of each of its records is known. */
interface CompletionDetails extends RefusalDetails {
  /** The report of the worker, if it covers the whole tape. If it does not, the outcomes are read from the tape. */
  readonly report: ShipReport | undefined;
}

/**
 * Whether a worker's report counts every record of the tape. It does not if other workers already determined the
 * outcome of some records: in an earlier round, or before they crashed.
 */
const coversTape = ({ delivered, refused }: ShipReport, tape: Tape): boolean =>
  delivered + countRecords(refused) === tape.records;

const countRecords = (refused: readonly RefusedRun[]): number =>
  refused.reduce((sum, { records }) => sum + records, 0);

/** How many records have each outcome, and how much was left out of the delivered ones. */
interface OutcomeCounts {
  readonly delivered: number;
  readonly rejected: number;
  readonly quarantined?: number;
  readonly truncated?: number;
  readonly omittedAttachments?: number;
}

/**
 * Maximum of the latency histogram: one hour; longer durations count as one hour. With this maximum and two
 * significant figures, the quantiles are off by at most one percent, and reading them scans 26 kB instead of the
 * 360 kB of a histogram with default settings.
 */
const maxLatencyMicros = 3_600_000_000;

/**
 * Milliseconds between two rounds of attempts while the server is unavailable. The pause doubles after each round, from
 * `firstPauseMs` up to `maxPauseMs`.
 */
const firstPauseMs = 1_000;
const maxPauseMs = 30_000;

/**
 * Sends tapes, the buffers of recorded runs, until the outcome of each record is known, and counts the outcomes. While
 * the server is unavailable, a tape is kept and sent again, round after round. Meanwhile, its records are dropped only
 * if the queue is full or the client ends.
 */
export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #latencyHistogram = createHistogram({ figures: 2, highest: maxLatencyMicros });
  #server: ServerInfo | undefined;
  #hasEnded = false;
  readonly #tapesInFlight = new Set<Tape>();
  readonly #tapesById = new Map<number, Tape>();
  readonly #failingTapes = new Set<Tape>();
  #lastId = 0;
  readonly #endSignal = new AbortController();

  constructor(options: DeliveryOptions) {
    this.#options = options;
    // Each tape that waits for the server adds a listener to this signal.
    setMaxListeners(0, this.#endSignal.signal);
  }

  /** Sends a tape until the outcome of all its records is known. Never rejects. */
  async ship(tape: Tape): Promise<TapeResult> {
    if (this.#options.isSendingAllowed === false) {
      return this.settleNow(tape, "misconfigured");
    }
    const tapeId = ++this.#lastId;
    this.#tapesInFlight.add(tape);
    this.#tapesById.set(tapeId, tape);
    try {
      return await this.#ship(tape, tapeId);
    } finally {
      this.#tapesInFlight.delete(tape);
      this.#tapesById.delete(tapeId);
      this.#failingTapes.delete(tape);
    }
  }

  /** Tapes that are being sent: not all of their records have an outcome yet. */
  get tapesInFlight(): ReadonlySet<Tape> {
    return this.#tapesInFlight;
  }

  /** Tapes in flight for which an attempt to send them failed. */
  get failingTapes(): ReadonlySet<Tape> {
    return this.#failingTapes;
  }

  /** Marks a tape after an attempt to send its records failed. */
  markFailing(tapeId: number): void {
    const tape = this.#tapesById.get(tapeId);
    if (tape !== undefined) {
      this.#failingTapes.add(tape);
    }
  }

  async #ship(tape: Tape, tapeId: number): Promise<TapeResult> {
    const crashIsolation = new CrashIsolation(tape, {
      shipper: this.#options.shipper,
      tapeId,
      inFlight: this.#tapesInFlight,
      pause: () => this.#pause(firstPauseMs),
      hasEnded: () => this.#hasEnded,
    });
    const refused: RefusedRun[] = [];
    let failedRounds = 0;
    for (;;) {
      const report = await crashIsolation.send();
      if (this.#hasEnded) {
        // The client ended while the tape was being sent, and `settleNow` has counted its records.
        return { delivered: 0, lost: 0 };
      }
      if (report === undefined) {
        return this.#settleUndelivered(tape, "workerLost", { refused });
      }
      this.#countReport(report);
      refused.push(...report.refused);
      if (report.undelivered === 0) {
        return this.#settleComplete(tape, {
          report: coversTape(report, tape) ? report : undefined,
          refused,
        });
      }
      if (!report.isServerUnavailable) {
        return this.#settleUndelivered(tape, "expired", { detail: report.reason, refused });
      }
      const { undelivered, reason = "" } = report;
      this.#options.reporter.log(
        "serverUnavailable",
        () => `Keeping ${undelivered} undelivered records: ${reason}`,
      );
      failedRounds += 1;
      await this.#pause(Math.min(firstPauseMs * 2 ** (failedRounds - 1), maxPauseMs));
    }
  }

  /** Ends sending. The records of tapes that are still being sent are then counted only by {@link settleNow}. */
  end(): void {
    this.#hasEnded = true;
    this.#endSignal.abort();
  }

  /**
   * Counts a tape's records by the outcome that is stored in the head of each record, the fixed bytes at its start.
   * Pending records are spooled or lost.
   */
  settleNow(tape: Tape, reason: LossReason): TapeResult {
    // Only the unfinished call of `ship` has the reasons for refusals.
    return this.#settleUndelivered(tape, reason, { refused: [] });
  }

  /** The content of the server's `/info`; `undefined` until a worker reports it. */
  get serverInfo(): ServerInfo | undefined {
    return this.#server;
  }

  /**
   * Milliseconds from the moment a tape is cut, after which it gets no more records, until the outcome of each of its
   * records is known.
   */
  get latency(): Quantiles {
    const histogram = this.#latencyHistogram;
    const readQuantileMs = (percentile: number): number =>
      histogram.count === 0 ? 0 : histogram.percentile(percentile) / 1_000;
    const max = histogram.count === 0 ? 0 : histogram.max / 1_000;
    return {
      count: histogram.count,
      p50: readQuantileMs(50),
      p90: readQuantileMs(90),
      p99: readQuantileMs(99),
      max,
    };
  }

  #countReport(report: ShipReport): void {
    const { ledger, reporter } = this.#options;
    reporter.reportShipment(report);
    if (report.redacted !== undefined) {
      countRedacted(report.redacted, ledger, reporter);
    }
    const { warning } = report;
    if (warning !== undefined) {
      ledger.countWarning("backendWarning");
      reporter.log("backendWarning", () => `The backend accepted spans with a warning: ${warning}`);
    }
    if (report.server !== undefined) {
      this.#server = report.server;
      this.#options.onServerInfo?.(report.server);
    }
    if (report.refused.length > 0) {
      this.#options.onRefused?.();
    }
    for (const run of report.refused) {
      reporter.publish("rejected", { ...run });
      reporter.log(`rejected ${run.code} ${run.status ?? ""}`, () => run.message);
    }
  }

  #settleComplete(tape: Tape, { report, refused }: CompletionDetails): TapeResult {
    const micros = Math.round((performance.now() - tape.cutAt) * 1_000);
    this.#latencyHistogram.record(Math.min(Math.max(1, micros), maxLatencyMicros));
    if (report === undefined) {
      return this.#settleUndelivered(tape, "expired", { refused });
    }
    const rejected = countRecords(refused);
    this.#writeDeadLetter(tape, rejected, refused);
    tape.journal?.discard();
    return this.#countSettled({ ...report, rejected });
  }

  #settleUndelivered(
    tape: Tape,
    reason: LossReason,
    { detail, refused }: RefusalDetails,
  ): TapeResult {
    const outcomeCounts = countOutcomes(tape);
    this.#writeDeadLetter(tape, outcomeCounts.rejected, refused);
    this.#writeQuarantined(tape, outcomeCounts.quarantined);
    const settledCounts = this.#countSettled(outcomeCounts);
    if (outcomeCounts.pending === 0) {
      tape.journal?.discard();
      return settledCounts;
    }
    const result = {
      delivered: settledCounts.delivered,
      lost: settledCounts.lost + outcomeCounts.pending,
    };
    // Counting the pending records as spooled or lost is the last step. A recording call may evict a tape while the
    // program's stack is exhausted; if an earlier step then fails, the tape stays in the queue.
    if (!this.#spoolPending(tape, outcomeCounts.pending)) {
      if (detail !== undefined) {
        this.#options.reporter.log(`${reason} detail`, () => detail);
      }
      this.#options.ledger.countLost(reason, outcomeCounts.pending);
    }
    return result;
  }

  /** Stores the records that the server refused, before the tape's memory is reused. */
  #writeDeadLetter(tape: Tape, recordCount: number, refused: readonly RefusedRun[]): void {
    const { deadLetters } = this.#options;
    if (deadLetters !== undefined && recordCount > 0) {
      const defaultReason = refused.length > 0 ? {} : { reason: "the server refused them" };
      deadLetters.write(copyDeadRecords(tape, "rejected"), recordCount, {
        at: Date.now(),
        refused,
        ...defaultReason,
      });
    }
  }

  #writeQuarantined(tape: Tape, recordCount: number): void {
    if (recordCount > 0) {
      const reason = lossTexts.quarantined;
      const note = { at: Date.now(), refused: [], reason };
      this.#options.deadLetters?.write(copyDeadRecords(tape, "quarantined"), recordCount, note);
    }
  }

  #countSettled({
    delivered,
    rejected,
    quarantined = 0,
    truncated = 0,
    omittedAttachments = 0,
  }: OutcomeCounts): TapeResult {
    this.#options.ledger.delivered += delivered;
    this.#options.ledger.countTruncated("run", truncated);
    this.#options.ledger.countTruncated("attachment", omittedAttachments);
    this.#options.ledger.countLost("rejected", rejected);
    this.#options.ledger.countLost("quarantined", quarantined);
    return { delivered, lost: rejected + quarantined };
  }

  #spoolPending(tape: Tape, recordCount: number): boolean {
    const { ledger, reporter, onSpooled } = this.#options;
    if (tape.isReplayed) {
      // The records were read from the spool, and their files stay there.
      ledger.spooled += recordCount;
      return true;
    }
    // The journal (the tape's own file on disk) is kept only if it has all records of the tape. Comparing the number of
    // records is not enough: a journal without the last records may have as many as are pending, but contain delivered
    // ones and lack pending ones.
    const isInJournal =
      tape.journaledBytes === tape.usedBytes && tape.journal?.keepSpooled(recordCount) === true;
    const isOnDisk = isInJournal || this.#appendToSpool(tape, recordCount);
    if (isOnDisk) {
      onSpooled?.();
      reporter.reportSpooled(recordCount);
      ledger.spooled += recordCount;
    }
    return isOnDisk;
  }

  #appendToSpool(tape: Tape, recordCount: number): boolean {
    const { spool, ledger, reporter } = this.#options;
    try {
      spool?.append(copyPendingRecords(tape), recordCount);
      return spool !== undefined;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      ledger.countWarning("spoolUnwritable");
      reporter.logLater("spoolUnwritable", `The spool can't be written: ${reason}`);
      return false;
    } finally {
      // The tape's journal can't be kept: it lacks records, or has some that were delivered.
      tape.journal?.discard();
    }
  }

  /** Waits without keeping the process alive. Ends early when the client ends. */
  async #pause(delayMs: number): Promise<void> {
    const { signal } = this.#endSignal;
    if (signal.aborted) {
      return;
    }
    await new Promise<void>((resolve) => {
      const stopWaiting = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", stopWaiting);
        resolve();
      };
      const timer = setTimeout(stopWaiting, delayMs);
      timer.unref();
      signal.addEventListener("abort", stopWaiting);
    });
  }
}
