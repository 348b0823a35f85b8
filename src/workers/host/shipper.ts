import { setMaxListeners } from "node:events";
import { setTimeout as timer } from "node:timers/promises";
import { createDispatcher } from "../../transport/dispatcher.ts";
import { retryPace } from "../../model/records/retry-wait.ts";
import type { SenderReport } from "../../model/records/sender-report.ts";
import { defaultServerInfo } from "../../model/resources/server-info.ts";
import { SharedTraffic } from "../../model/records/shared-traffic.ts";
import type {
  ShippingOptions,
  ShipReport,
  ShipTask,
  RefusedRun,
} from "../../model/records/shipping.ts";
import { withAttachments } from "../json/attachments.ts";
import { HttpSink } from "../sinks/http-sink.ts";
import { ContentDeduplication } from "../json/content-deduplication.ts";
import { joinRecords, leftOutOf } from "../json/operations.ts";
import { Redactor } from "../redaction/redactor.ts";
import { retryingSink } from "../sinks/retrying-sink.ts";
import { RunJson, runtimeJson } from "../json/run-json.ts";
import { ServerState } from "../sinks/server-state.ts";
import { resultParts } from "../sinks/sink.ts";
import type { BatchResult, RetryOutcome, Sink } from "../sinks/sink.ts";
import { splittingSink } from "../sinks/splitting-sink.ts";
import { cutBatches } from "../sinks/tape-batch.ts";
import type { TapeBatch } from "../sinks/tape-batch.ts";
import { TapeReader } from "../json/tape-reader.ts";
import { WasmJson } from "../json/wasm-json.ts";

/** Longest answer that is read; an ingest answer is a few hundred bytes. */
const maxResponseBytes = 4_194_304;
/** How long after a failed request of `/info` it is requested again. */
const infoAgainMs = 30_000;
/** How long the first report of delivered runs waits for `/info`, which was requested before they were sent. */
const infoWaitMs = 500;

/** Ships tapes: reads, joins, batches, sends, and writes each record's outcome into the tape. */
export class Shipper {
  readonly #options: ShippingOptions;
  readonly #runtime: Buffer;
  readonly #wasm: WasmJson | undefined;
  readonly #http: HttpSink;
  readonly #traffic: SharedTraffic;
  readonly #onFailure: (tapeId: number) => void;
  readonly #state: ServerState;
  readonly #redactor: Redactor | undefined;
  readonly #stop = new AbortController();
  readonly #close: () => Promise<void>;
  #retries = 0;
  #learning: Promise<void> | undefined;
  #infoRequestedAt = Number.NEGATIVE_INFINITY;
  #infoRequest: AbortController | undefined;

  /** `onFailure` is called with a tape's id as soon as a try of its records failed. */
  constructor(options: ShippingOptions, onFailure: (tapeId: number) => void = () => undefined) {
    const { connection, redaction } = options;
    this.#onFailure = onFailure;
    this.#traffic = new SharedTraffic(options.traffic);
    const dispatcher = createDispatcher(connection, maxResponseBytes, () =>
      this.#traffic.countConnection(),
    );
    this.#options = options;
    this.#redactor = redaction === undefined ? undefined : new Redactor(redaction);
    this.#runtime = Buffer.from(runtimeJson(options.runtime));
    this.#wasm = WasmJson.create(this.#runtime);
    this.#state = new ServerState(connection);
    const content =
      options.contentDeduplication === "once" ? new ContentDeduplication() : undefined;
    this.#http = new HttpSink({
      connection,
      dispatcher,
      state: this.#state,
      traffic: this.#traffic,
      content,
    });
    this.#close = () => dispatcher.destroy();
    // Every request under way listens to the one signal.
    setMaxListeners(0, this.#stop.signal);
  }

  /** Ships one tape. Throws only where the tape can't be read. */
  async ship({
    tapeId = 0,
    memory,
    used,
    from = 0,
    suspectRecords = [],
  }: ShipTask): Promise<ShipReport> {
    this.#learn();
    const sink = this.#sinkOf(tapeId);
    const redacted = this.#redactor?.redact(new Uint8Array(memory, from, used - from));
    const reader = new TapeReader(memory, used, from);
    const { attachBytesFrom } = this.#options;
    const json = new RunJson(reader, this.#runtime, { attachBytesFrom, wasm: this.#wasm });
    const { batchLimit, batchBytes } = this.#state.info;
    const limits = {
      runs: batchLimit,
      bytes: batchBytes,
      suspectRecords,
    };
    const runs = await withAttachments(reader, joinRecords(reader), this.#options.files);
    const { batches, suspectRuns } = cutBatches(reader, json, runs, limits);
    const send = async (batch: TapeBatch): Promise<readonly BatchResult[]> => {
      const outcome = await sink.send(batch, this.#stop.signal);
      const parts = resultParts({ batch, outcome });
      // At once, so that these outcomes are known if this thread crashes or the process ends.
      markOutcomes(reader, parts);
      this.#noteRefusals(parts, tapeId);
      return parts;
    };
    const judged = await Promise.all(batches.map(send));
    for (const suspect of suspectRuns) {
      judged.push(await send(suspect));
    }
    const report = count(judged.flat());
    this.#traffic.countFinished();
    if (report.delivered > 0) {
      await this.#waitForInfo();
    }
    // Tapes overlap: each report carries what was counted since the one before.
    const retries = this.#retries;
    this.#retries = 0;
    return {
      ...report,
      ...this.#http.takeSent(),
      retries,
      ...(redacted === undefined ? {} : { redacted }),
      ...(this.#state.info === defaultServerInfo ? {} : { server: this.#state.info }),
    };
  }

  /** The way of one tape's batches: its failures are noted as they happen, under the tape's id. */
  #sinkOf(tapeId: number): Sink {
    const { attempts, retryAfterLimitMs } = this.#options;
    return splittingSink(
      retryingSink(this.#http, {
        attempts,
        ...retryPace,
        retryAfterLimitMs,
        onRetry: () => {
          this.#retries += 1;
          this.#traffic.countRetry();
        },
        onFailedTry: (outcome) => this.#noteFailure(outcome, tapeId),
      }),
    );
  }

  #noteFailure({ reason, code, status }: RetryOutcome, tapeId: number): void {
    this.#traffic.fail({
      at: Date.now(),
      cause: reason,
      isFinal: false,
      ...(code === undefined ? {} : { code }),
      ...(status === undefined ? {} : { status }),
    });
    this.#onFailure(tapeId);
  }

  #noteRefusals(parts: readonly BatchResult[], tapeId: number): void {
    const refusals = parts.flatMap(({ outcome }) => (outcome.kind === "rejected" ? outcome : []));
    const [refusal] = refusals;
    if (refusal !== undefined) {
      const { message, code, status } = refusal.rejection;
      this.#traffic.fail({
        at: Date.now(),
        cause: message,
        isFinal: true,
        code,
        ...(status === undefined ? {} : { status }),
      });
      this.#onFailure(tapeId);
    }
  }

  /**
   * Ensures that a strange server is noticed before its 2xx responses are counted. Waits once for each request of `/info`, and
   * only for a short time.
   */
  async #waitForInfo(): Promise<void> {
    const learning = this.#learning;
    this.#learning = undefined;
    if (learning !== undefined && !this.#state.known) {
      await Promise.race([learning, timer(infoWaitMs, undefined, { ref: false })]);
    }
  }

  /** Tells the server what was counted. Once; rejects where it does not answer. */
  report(report: SenderReport): Promise<void> {
    return this.#http.report(report, this.#stop.signal);
  }

  /** Ends every wait and gives back the connections. */
  async close(): Promise<void> {
    this.#stop.abort(new DOMException("the client was closed", "AbortError"));
    await this.#close();
  }

  /** Asks no more what the server can do, until the next tape: on the main thread it would hold the process. */
  abortInfo(): void {
    this.#infoRequest?.abort(new DOMException("nothing is under way", "AbortError"));
    this.#infoRequestedAt = Number.NEGATIVE_INFINITY;
  }

  /** Asks `/info` until it answers, at most every half minute; runs go on meanwhile. */
  #learn(): void {
    const now = performance.now();
    if (this.#state.known || now - this.#infoRequestedAt < infoAgainMs) {
      return;
    }
    this.#infoRequestedAt = now;
    this.#infoRequest = new AbortController();
    this.#learning = this.#readInfo(AbortSignal.any([this.#stop.signal, this.#infoRequest.signal]));
  }

  /** Never rejects. */
  async #readInfo(signal: AbortSignal): Promise<void> {
    try {
      await this.#http.readInfo(signal);
    } catch {
      // The defaults stay in force; a fault of the server shows when runs are sent.
    }
  }
}

type Counted = Pick<
  ShipReport,
  "delivered" | "truncated" | "refused" | "quarantined" | "undelivered" | "away" | "reason"
>;

function count(judged: readonly BatchResult[]): Counted {
  let delivered = 0;
  let truncated = 0;
  let quarantined = 0;
  let undelivered = 0;
  let away = true;
  let reason: string | undefined;
  const refused: RefusedRun[] = [];
  for (const { batch, outcome } of judged) {
    for (const run of batch.runs) {
      if (outcome.kind === "delivered") {
        delivered += run.records.length;
        truncated += leftOutOf(run);
      } else if (outcome.kind === "rejected") {
        refused.push({ runId: run.id, records: run.records.length, ...outcome.rejection });
      } else if (outcome.kind === "unwritable") {
        quarantined += run.records.length;
      } else if (outcome.kind === "retry") {
        undelivered += run.records.length;
        away &&= outcome.away;
        reason = outcome.reason;
      }
    }
  }
  return {
    delivered,
    refused,
    undelivered,
    away,
    ...(truncated === 0 ? {} : { truncated }),
    ...(quarantined === 0 ? {} : { quarantined }),
    ...(reason === undefined ? {} : { reason }),
  };
}

/** Writes the outcomes into the heads of the records. */
function markOutcomes(reader: TapeReader, judged: readonly BatchResult[]): void {
  for (const { batch, outcome } of judged) {
    if (outcome.kind !== "retry" && outcome.kind !== "mixed") {
      const mark = outcome.kind === "unwritable" ? "quarantined" : outcome.kind;
      for (const run of batch.runs) {
        const [first = -1] = run.records;
        const leftOut = leftOutOf(run);
        if (leftOut > 0 && outcome.kind === "delivered") {
          reader.withhold(first, leftOut);
        }
        for (const record of run.records) {
          reader.settle(record, mark);
        }
      }
    }
  }
}
