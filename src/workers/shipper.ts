import { setMaxListeners } from "node:events";
import { createDispatcher } from "../connection/dispatcher.ts";
import { retryPace } from "../model/retry-wait.ts";
import type { SenderReport } from "../model/sender-report.ts";
import { defaultServerInfo } from "../model/server-info.ts";
import type { ShippingOptions, ShipReport, ShipTask, RefusedRun } from "../model/shipping.ts";
import { withAttachments } from "./attachments.ts";
import { HttpSink } from "./http-sink.ts";
import { KnownContent } from "./known-content.ts";
import { joinRecords, leftOutOf } from "./operations.ts";
import { Redactor } from "./redactor.ts";
import { retryingSink } from "./retrying-sink.ts";
import { RunJson } from "./run-json.ts";
import { runtimeJson } from "./runtime-json.ts";
import { ServerState } from "./server-state.ts";
import { judgedParts } from "./sink.ts";
import type { JudgedBatch, Sink } from "./sink.ts";
import { splittingSink } from "./splitting-sink.ts";
import { cutBatches } from "./tape-batch.ts";
import type { TapeBatch } from "./tape-batch.ts";
import { TapeReader } from "./tape-reader.ts";
import { WasmJson } from "./wasm-json.ts";

/** Longest answer that is read; an ingest answer is a few hundred bytes. */
const answerLimitBytes = 4_194_304;
/** How long after a failed `/info` it is asked again. */
const infoAgainMs = 30_000;

/** Ships tapes: reads, joins, batches, sends, and writes each record's outcome into the tape. */
export class Shipper {
  readonly #options: ShippingOptions;
  readonly #runtime: Buffer;
  readonly #wasm: WasmJson | undefined;
  readonly #http: HttpSink;
  readonly #sink: Sink;
  readonly #state: ServerState;
  readonly #redactor: Redactor | undefined;
  readonly #stop = new AbortController();
  readonly #close: () => Promise<void>;
  #retries = 0;
  #infoAskedAt = Number.NEGATIVE_INFINITY;
  #asking: AbortController | undefined;

  constructor(options: ShippingOptions) {
    const { connection, attempts, retryAfterLimitMs, redaction } = options;
    const dispatcher = createDispatcher(connection, answerLimitBytes);
    this.#options = options;
    this.#redactor = redaction === undefined ? undefined : new Redactor(redaction);
    this.#runtime = Buffer.from(runtimeJson(options.runtime));
    this.#wasm = WasmJson.create(this.#runtime);
    this.#state = new ServerState(connection);
    const content = options.repeatedContent === "once" ? new KnownContent() : undefined;
    this.#http = new HttpSink(connection, dispatcher, this.#state, content);
    this.#close = () => dispatcher.destroy();
    // Every request under way listens to the one signal.
    setMaxListeners(0, this.#stop.signal);
    const onRetry = (): void => {
      this.#retries += 1;
    };
    const policy = { attempts, ...retryPace, retryAfterLimitMs, onRetry };
    this.#sink = splittingSink(retryingSink(this.#http, policy));
  }

  /** Ships one tape. Throws only where the tape can't be read. */
  async ship({ memory, used, from = 0, suspects: accused = [] }: ShipTask): Promise<ShipReport> {
    void this.#learn();
    const redacted = this.#redactor?.redact(new Uint8Array(memory, from, used - from));
    const reader = new TapeReader(memory, used, from);
    const { attachBytesFrom } = this.#options;
    const json = new RunJson(reader, this.#runtime, { attachBytesFrom, wasm: this.#wasm });
    const { batchLimit, batchBytes } = this.#state.info;
    const limits = {
      runs: batchLimit,
      bytes: batchBytes,
      suspects: accused,
    };
    const runs = await withAttachments(reader, joinRecords(reader), this.#options.files);
    const { batches, suspects } = cutBatches(reader, json, runs, limits);
    const judged = await Promise.all(batches.map((batch) => this.#send(batch, reader)));
    for (const suspect of suspects) {
      judged.push(await this.#send(suspect, reader));
    }
    const report = count(judged.flat());
    const finished = new Int32Array(this.#options.finished);
    Atomics.add(finished, 0, 1);
    Atomics.notify(finished, 0);
    // Tapes overlap: each report carries what was counted since the one before.
    const retries = this.#retries;
    this.#retries = 0;
    return {
      ...report,
      ...this.#http.takeTraffic(),
      retries,
      ...(redacted === undefined ? {} : { redacted }),
      ...(this.#state.info === defaultServerInfo ? {} : { server: this.#state.info }),
    };
  }

  async #send(batch: TapeBatch, reader: TapeReader): Promise<readonly JudgedBatch[]> {
    const outcome = await this.#sink.send(batch, this.#stop.signal);
    const parts = judgedParts({ batch, outcome });
    // At once: if this thread dies, or the process ends, these are known.
    markOutcomes(reader, parts);
    return parts;
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
  leaveInfo(): void {
    this.#asking?.abort(new DOMException("nothing is under way", "AbortError"));
    this.#infoAskedAt = Number.NEGATIVE_INFINITY;
  }

  /** Asks `/info` until it answers, at most every half minute; runs go on meanwhile. */
  async #learn(): Promise<void> {
    const now = performance.now();
    if (this.#state.known || now - this.#infoAskedAt < infoAgainMs) {
      return;
    }
    this.#infoAskedAt = now;
    this.#asking = new AbortController();
    try {
      await this.#http.readInfo(AbortSignal.any([this.#stop.signal, this.#asking.signal]));
    } catch {
      // Nothing is lost: the defaults stay, and the runs themselves tell what fails.
    }
  }
}

type Counted = Pick<
  ShipReport,
  "delivered" | "truncated" | "refused" | "setAside" | "undelivered" | "away" | "reason"
>;

function count(judged: readonly JudgedBatch[]): Counted {
  let delivered = 0;
  let truncated = 0;
  let setAside = 0;
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
        setAside += run.records.length;
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
    ...(setAside === 0 ? {} : { setAside }),
    ...(reason === undefined ? {} : { reason }),
  };
}

/** Writes the outcomes into the heads of the records. */
function markOutcomes(reader: TapeReader, judged: readonly JudgedBatch[]): void {
  for (const { batch, outcome } of judged) {
    if (outcome.kind !== "retry" && outcome.kind !== "mixed") {
      const mark = outcome.kind === "unwritable" ? "setAside" : outcome.kind;
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
