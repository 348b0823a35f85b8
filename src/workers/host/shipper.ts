import { setMaxListeners } from "node:events";
import { setTimeout as timer } from "node:timers/promises";
import { defaultRetryWaits } from "../../transport/retry.ts";
import type { CreateTransport } from "../../transport/transport.ts";
import type { StatsReport } from "../../model/records/stats-report.ts";
import { defaultServerInfo } from "../../model/resources/server-info.ts";
import type { ServerInfo } from "../../model/resources/server-info.ts";
import { SharedTraffic } from "../../model/records/shared-traffic.ts";
import type {
  ShippingOptions,
  ShipReport,
  ShipTask,
  RefusedRun,
} from "../../model/records/shipping.ts";
import { addAttachments } from "../json/attachments.ts";
import { expandTape } from "../exchange/expand-tape.ts";
import type { ExpandedTape } from "../exchange/expand-tape.ts";
import { SpanEncoder } from "../otlp/span-encoder.ts";
import { HttpSink } from "../sinks/http-sink.ts";
import { OtlpSink } from "../sinks/otlp-sink.ts";
import { SpanBatch } from "../sinks/span-batch.ts";
import { ContentDeduplication } from "../json/content-deduplication.ts";
import { joinRecords, countWithheld } from "../json/operations.ts";
import type { RunOperation } from "../json/operations.ts";
import { Redactor } from "../redaction/redactor.ts";
import { createRetryingSink } from "../sinks/retrying-sink.ts";
import { RunJson } from "../json/run-json.ts";
import { stringifyRuntime } from "../json/runtime-facts-module.ts";
import { ServerState } from "../sinks/server-state.ts";
import { flattenResult } from "../sinks/sink.ts";
import type {
  Batch,
  BatchResult,
  Rejection,
  RetryOutcome,
  Sink,
  TrafficSink,
} from "../sinks/sink.ts";
import { createSplittingSink } from "../sinks/splitting-sink.ts";
import { cutBatches, TapeBatch } from "../sinks/tape-batch.ts";
import type { BatchLimits } from "../sinks/tape-batch.ts";
import { TapeReader } from "../json/tape-reader.ts";
import { WasmJson } from "../json/wasm-json.ts";

/** Largest response body that is read, in bytes. A response to a request with runs has a few hundred bytes. */
const maxResponseBytes = 4_194_304;
/** Milliseconds after a failed request to `/info` before the next one. */
const infoRetryMs = 30_000;
/**
 * Maximum milliseconds for which the first report of delivered runs waits for the response of `/info`, which was
 * requested before the runs were sent.
 */
const infoWaitMs = 500;
/** Maximum number of spans in one request: as many as the exporters of OpenTelemetry send at once. */
const maxSpans = 512;
/** Maximum bytes of the contents of one request with spans. The limit of many backends is four to five megabytes. */
const maxSpanBytes = 3_145_728;

/** What a {@link Shipper} needs besides the options that all threads share. */
export interface ShipperInit {
  readonly createTransport: CreateTransport;
  /** Called with a tape's id as soon as an attempt to send its records failed. */
  readonly onFailure?: ((tapeId: number) => void) | undefined;
  /** The content of the server's `/info`, if another thread has read it. */
  readonly serverInfo?: ServerInfo | undefined;
}

/**
 * Ships tapes, the buffers of recorded runs: reads the records, joins them into runs, divides these into batches, sends
 * the batches, and writes each record's outcome into the tape.
 */
export class Shipper {
  readonly #options: ShippingOptions;
  readonly #runtimeJson: Buffer;
  readonly #wasm: WasmJson | undefined;
  /** Sends batches: to the server, or as spans to an OpenTelemetry backend. */
  readonly #sink: TrafficSink;
  /** The server; `undefined` if spans are sent to an OpenTelemetry backend. */
  readonly #server: HttpSink | undefined;
  readonly #spanEncoder: SpanEncoder | undefined;
  readonly #traffic: SharedTraffic;
  readonly #onFailure: (tapeId: number) => void;
  readonly #serverState: ServerState;
  readonly #redactor: Redactor | undefined;
  readonly #closing = new AbortController();
  readonly #closeTransport: () => Promise<void>;
  #retries = 0;
  #pendingInfo: Promise<void> | undefined;
  #infoRequestedAt = Number.NEGATIVE_INFINITY;
  #infoRequest: AbortController | undefined;

  constructor(
    options: ShippingOptions,
    { createTransport, onFailure = () => undefined, serverInfo }: ShipperInit,
  ) {
    const { connection, redaction, otlp } = options;
    this.#onFailure = onFailure;
    this.#traffic = new SharedTraffic(options.traffic);
    const transport = createTransport(connection, maxResponseBytes, () =>
      this.#traffic.countConnection(),
    );
    this.#options = options;
    this.#redactor = redaction === undefined ? undefined : new Redactor(redaction);
    this.#runtimeJson = Buffer.from(stringifyRuntime(options.runtime));
    this.#wasm = WasmJson.create(this.#runtimeJson);
    this.#serverState = new ServerState(connection);
    if (serverInfo !== undefined) {
      this.#serverState.updateInfo(serverInfo);
    }
    const content =
      options.contentDeduplication === "once" ? new ContentDeduplication() : undefined;
    const traffic = this.#traffic;
    this.#server =
      otlp === undefined
        ? new HttpSink({ connection, transport, state: this.#serverState, traffic, content })
        : undefined;
    this.#sink = this.#server ?? new OtlpSink({ connection, transport, traffic });
    this.#spanEncoder = otlp === undefined ? undefined : new SpanEncoder(otlp, options.runtime);
    this.#closeTransport = () => transport.destroy();
    // Every request in flight adds a listener to this signal, so Node's warning about many listeners is turned off.
    setMaxListeners(0, this.#closing.signal);
  }

  /** Ships one tape, which is a buffer of recorded runs. Throws only if the tape can't be read. */
  async ship({
    tapeId = 0,
    memory,
    usedBytes,
    from = 0,
    suspectRecords = [],
  }: ShipTask): Promise<ShipReport> {
    this.#requestInfoIfDue();
    const sink = this.#createSink(tapeId);
    const original = new TapeReader(memory, usedBytes, from);
    const { reader, redacted }: ExpandedTape = original.hasExchanges
      ? expandTape(original, this.#redactor)
      : { reader: original, ...this.#redact(new Uint8Array(memory, from, usedBytes - from)) };
    const { attachBytesFrom } = this.#options;
    const json = new RunJson(reader, this.#runtimeJson, { attachBytesFrom, wasm: this.#wasm });
    const runs = await addAttachments(reader, joinRecords(reader), this.#options.files);
    const createBatch = this.#chooseBatchFactory(reader, json);
    const unsendable = this.#spanEncoder === undefined ? [] : findUnsendable(json, runs);
    const unsendableRuns = new Set(unsendable.map(({ run }) => run));
    const sendableRuns =
      unsendable.length === 0 ? runs : runs.filter((run) => !unsendableRuns.has(run));
    const limits = { ...this.#batchLimits, suspectRecords };
    const { batches, suspectRuns } = cutBatches(reader, createBatch, sendableRuns, limits);
    const settle = (result: BatchResult): readonly BatchResult[] => {
      const parts = flattenResult(result);
      // Mark the outcomes immediately, so that they are on the tape even if this thread crashes or the process ends.
      markOutcomes(reader, parts);
      this.#recordRefusal(parts, tapeId);
      return parts;
    };
    const send = async (batch: Batch): Promise<readonly BatchResult[]> =>
      settle({ batch, outcome: await sink.send(batch, this.#closing.signal) });
    const results = await Promise.all(batches.map(send));
    for (const { run, rejection } of unsendable) {
      results.push(settle({ batch: createBatch([run]), outcome: { kind: "rejected", rejection } }));
    }
    for (const suspect of suspectRuns) {
      results.push(await send(suspect));
    }
    const report = countResults(results.flat());
    this.#traffic.countFinishedTape();
    if (report.delivered > 0) {
      await this.#waitForInfo();
    }
    // Several tapes are sent at the same time. A report contains the retries of all tapes since the
    // previous report.
    const retries = this.#retries;
    this.#retries = 0;
    const warning = this.#sink.takeWarning();
    return {
      ...report,
      ...(warning === undefined ? {} : { warning }),
      ...this.#sink.takeRequestCounts(),
      retries,
      ...(redacted === undefined ? {} : { redacted }),
      ...(this.#serverState.serverInfo === defaultServerInfo
        ? {}
        : { server: this.#serverState.serverInfo }),
    };
  }

  /** Masks secrets in the records in place. Returns how many were masked; an empty object if there are no rules. */
  #redact(records: Uint8Array): Pick<ExpandedTape, "redacted"> {
    return this.#redactor === undefined ? {} : { redacted: this.#redactor.redact(records) };
  }

  /** Returns the function that creates batches of the kind that is sent. */
  #chooseBatchFactory(reader: TapeReader, json: RunJson): (runs: readonly RunOperation[]) => Batch {
    const encoder = this.#spanEncoder;
    return encoder === undefined
      ? (runs) => new TapeBatch(reader, json, runs)
      : (runs) => new SpanBatch(json, encoder, runs);
  }

  get #batchLimits(): Omit<BatchLimits, "suspectRecords"> {
    if (this.#spanEncoder !== undefined) {
      return { maxRuns: maxSpans, maxBytes: maxSpanBytes };
    }
    const { batchLimit, batchBytes } = this.#serverState.serverInfo;
    return { maxRuns: batchLimit, maxBytes: batchBytes };
  }

  /** Creates the sink for one tape's batches. Each failure is recorded at once, and reported with the tape's id. */
  #createSink(tapeId: number): Sink {
    const { attempts, retryAfterLimitMs } = this.#options;
    return createSplittingSink(
      createRetryingSink(this.#sink, {
        attempts,
        ...defaultRetryWaits,
        retryAfterLimitMs,
        onRetry: () => {
          this.#retries += 1;
          this.#traffic.countRetry();
        },
        onFailedAttempt: (outcome) => this.#recordFailure(outcome, tapeId),
      }),
    );
  }

  #recordFailure({ reason, code, status }: RetryOutcome, tapeId: number): void {
    this.#traffic.recordFailure({
      at: Date.now(),
      cause: reason,
      isFinal: false,
      ...(code === undefined ? {} : { code }),
      ...(status === undefined ? {} : { status }),
    });
    this.#onFailure(tapeId);
  }

  #recordRefusal(parts: readonly BatchResult[], tapeId: number): void {
    const refusals = parts.flatMap(({ outcome }) => (outcome.kind === "rejected" ? outcome : []));
    const [refusal] = refusals;
    if (refusal !== undefined) {
      const { message, code, status } = refusal.rejection;
      this.#traffic.recordFailure({
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
   * Waits for the response to `/info` before 2xx responses to runs are reported as deliveries, because that response
   * can show that the server may not accept runs. Waits only once for each request to `/info`, and at most for
   * {@link infoWaitMs}.
   */
  async #waitForInfo(): Promise<void> {
    const pendingInfo = this.#pendingInfo;
    this.#pendingInfo = undefined;
    if (pendingInfo !== undefined && !this.#serverState.isInfoKnown) {
      await Promise.race([pendingInfo, timer(infoWaitMs, undefined, { ref: false })]);
    }
  }

  /**
   * Reports to the server how many records the client accepted, delivered, rejected, dropped and so on. Sends the
   * report once. Rejects if there is no response, or when `signal` aborts.
   */
  async report(report: StatsReport, signal?: AbortSignal): Promise<void> {
    const { signal: closing } = this.#closing;
    await this.#server?.report(
      report,
      signal === undefined ? closing : AbortSignal.any([closing, signal]),
    );
  }

  /** Aborts every wait and closes the connections. */
  async close(): Promise<void> {
    this.#closing.abort(new DOMException("the client was closed", "AbortError"));
    await this.#closeTransport();
  }

  /**
   * Aborts the request to `/info`; it is repeated when the next runs are sent. On the main thread an open request would
   * keep the process alive.
   */
  abortInfoRequest(): void {
    this.#infoRequest?.abort(new DOMException("no tape is being sent", "AbortError"));
    this.#infoRequestedAt = Number.NEGATIVE_INFINITY;
  }

  /**
   * Requests `/info` until the server responds, at most every half minute. Runs are sent meanwhile. An OpenTelemetry
   * backend has no `/info`.
   */
  #requestInfoIfDue(): void {
    const now = performance.now();
    if (
      this.#server === undefined ||
      this.#serverState.isInfoKnown ||
      now - this.#infoRequestedAt < infoRetryMs
    ) {
      return;
    }
    this.#infoRequestedAt = now;
    this.#infoRequest = new AbortController();
    this.#pendingInfo = this.#readInfo(
      AbortSignal.any([this.#closing.signal, this.#infoRequest.signal]),
    );
  }

  /** Requests `/info`. Never rejects. */
  async #readInfo(signal: AbortSignal): Promise<void> {
    try {
      await this.#server?.readInfo(signal);
    } catch {
      // The default limits stay in use. If the server does not respond at all, the requests with runs fail too, and
      // these failures are reported.
    }
  }
}

/** A run that can't be sent as a span, and why. */
interface UnsendableRun {
  readonly run: RunOperation;
  readonly rejection: Rejection;
}

/**
 * Finds the runs that can't be sent as spans. A client with `otlp` puts only whole runs on its tapes. But a tape from a
 * spool may have been recorded by a client without it.
 */
const findUnsendable = (json: RunJson, runs: readonly RunOperation[]): readonly UnsendableRun[] =>
  runs.flatMap((run) => {
    const problem = json.findSpanProblem(run);
    return problem === undefined
      ? []
      : [
          {
            run,
            rejection: {
              code: "VALIDATION",
              message: `Failed to send a run as a span: ${problem}. Send it with a client without otlp`,
            },
          },
        ];
  });

/** The part of a report that follows from the outcomes of the batches. */
type ResultCounts = Pick<
  ShipReport,
  | "delivered"
  | "existing"
  | "truncated"
  | "omittedAttachments"
  | "refused"
  | "quarantined"
  | "undelivered"
  | "isServerUnavailable"
  | "reason"
>;

function countResults(results: readonly BatchResult[]): ResultCounts {
  let delivered = 0;
  let existing = 0;
  let truncated = 0;
  let omittedAttachments = 0;
  let quarantined = 0;
  let undelivered = 0;
  let isServerUnavailable = true;
  let reason: string | undefined;
  const refused: RefusedRun[] = [];
  for (const { batch, outcome } of results) {
    existing += outcome.kind === "delivered" ? (outcome.existing ?? 0) : 0;
    for (const run of batch.runs) {
      if (outcome.kind === "delivered") {
        delivered += run.records.length;
        const withheld = countWithheld(run);
        truncated += withheld.payloads;
        omittedAttachments += withheld.attachments;
      } else if (outcome.kind === "rejected") {
        refused.push({ runId: run.id, records: run.records.length, ...outcome.rejection });
      } else if (outcome.kind === "unwritable") {
        quarantined += run.records.length;
      } else if (outcome.kind === "retry") {
        undelivered += run.records.length;
        isServerUnavailable &&= outcome.isServerUnavailable;
        reason = outcome.reason;
      }
    }
  }
  return {
    delivered,
    refused,
    undelivered,
    isServerUnavailable,
    ...(existing === 0 ? {} : { existing }),
    ...(truncated === 0 ? {} : { truncated }),
    ...(omittedAttachments === 0 ? {} : { omittedAttachments }),
    ...(quarantined === 0 ? {} : { quarantined }),
    ...(reason === undefined ? {} : { reason }),
  };
}

/**
 * Writes the outcome of each record, such as delivered or rejected, into the record's head: the fixed bytes at its
 * start on the tape.
 */
function markOutcomes(reader: TapeReader, results: readonly BatchResult[]): void {
  for (const { batch, outcome } of results) {
    if (outcome.kind !== "retry" && outcome.kind !== "mixed") {
      const outcomeName = outcome.kind === "unwritable" ? "quarantined" : outcome.kind;
      for (const run of batch.runs) {
        const [first = -1] = run.records;
        const withheld = countWithheld(run);
        if (withheld.payloads + withheld.attachments > 0 && outcome.kind === "delivered") {
          reader.writeWithheldCounts(first, withheld);
        }
        for (const record of run.records) {
          reader.writeOutcome(record, outcomeName);
        }
      }
    }
  }
}
