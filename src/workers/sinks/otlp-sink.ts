import type { Connection } from "../../model/options/connection.ts";
import type { SharedTraffic } from "../../model/records/shared-traffic.ts";
import { defaultServerInfo } from "../../model/resources/server-info.ts";
import { Requester } from "../../transport/requester.ts";
import { isOk } from "../../transport/response.ts";
import type { HttpResponse } from "../../transport/response.ts";
import type { Transport } from "../../transport/transport.ts";
import { JsonWriter } from "../json/json-writer.ts";
import { readPartialSuccess, toErrorText } from "../otlp/export-response.ts";
import { classifyFailure, classifyResponse, isWebPage } from "./classify-response.ts";
import { compress, compressFromBytes } from "./compression.ts";
import { recordMissingConnection } from "./missing-connection.ts";
import { BodyBuffers } from "./request-body.ts";
import { Semaphore } from "./semaphore.ts";
import { ServerState } from "./server-state.ts";
import { UnwritableBatchError } from "./sink.ts";
import type { Batch, BatchResult, Outcome, RequestCounts, TrafficSink } from "./sink.ts";

/** Maximum bytes of unused output buffers that are kept for reuse. */
const maxReusedBytes = 33_554_432;
/** The action in error messages. */
const action = "send spans";
/** In error messages, the server's reason for rejecting a span is truncated to this many UTF-16 code units. */
const maxReasonLength = 500;

/** Objects that all requests of one client share. */
export interface OtlpSinkOptions {
  readonly connection: Connection;
  readonly transport: Transport;
  /** Counts the requests of this client and the responses to them, for `client.stats()`. */
  readonly traffic: SharedTraffic;
}

/** Sends batches of spans to an OpenTelemetry backend, as OTLP over HTTP in protobuf. One request per batch. */
export class OtlpSink implements TrafficSink {
  readonly #traffic: SharedTraffic;
  readonly #requester: Requester;
  readonly #serverState: ServerState;
  readonly #buffers = new BodyBuffers(maxReusedBytes);
  readonly #semaphore: Semaphore;
  #requestCounts: RequestCounts = { requests: 0, bytes: 0 };
  #hasSentRequest = false;
  #warning: string | undefined;

  constructor({ connection, transport, traffic }: OtlpSinkOptions) {
    this.#traffic = traffic;
    this.#requester = new Requester(connection, transport);
    this.#semaphore = new Semaphore(connection.requestsInFlight);
    this.#serverState = new ServerState(connection);
    // Every backend accepts gzip. Few accept zstd, so it is used only if the option `compression` is `zstd`.
    const zstd = connection.compression === "zstd";
    this.#serverState.updateInfo({ ...defaultServerInfo, gzip: true, zstd });
  }

  takeRequestCounts(): RequestCounts {
    const takenCounts = this.#requestCounts;
    this.#requestCounts = { requests: 0, bytes: 0 };
    return takenCounts;
  }

  takeWarning(): string | undefined {
    const warning = this.#warning;
    this.#warning = undefined;
    return warning;
  }

  async send(batch: Batch, signal: AbortSignal): Promise<Outcome> {
    for (;;) {
      let response: HttpResponse;
      try {
        response = await this.#semaphore.run(() => this.#sendRequest(batch, signal));
      } catch (failure) {
        return failure instanceof UnwritableBatchError
          ? { kind: "unwritable", reason: failure.message }
          : classifyFailure(action, failure);
      }
      if (response.status === 415 && this.#serverState.encoding !== undefined) {
        this.#serverState.recordRefusedEncoding();
        continue;
      }
      return this.#classify(batch, response);
    }
  }

  /**
   * Converts a response to the outcome of each span of a batch. A backend that accepts only a part of a request reports
   * how many spans it rejected, but not which ones, and the request must not be sent again. So that number of runs at
   * the end of the batch counts as rejected. Their message states that the backend did not name the rejected spans.
   */
  #classify(batch: Batch, response: HttpResponse): Outcome {
    const isAccepted = isOk(response.status);
    const bytes = readBody(response);
    const body = isAccepted ? bytes.toString("utf8") : toErrorText(response.body);
    const outcome = classifyResponse(action, { ...response, body }, Date.now());
    if (!isAccepted || outcome.kind !== "delivered") {
      return outcome;
    }
    const { rejectedSpans, message } = readPartialSuccess(bytes);
    const text = this.#requester.hideSecrets(message).slice(0, maxReasonLength);
    const rejectedCount = Math.min(rejectedSpans, batch.runs.length);
    if (rejectedCount === 0) {
      this.#warning = text === "" ? this.#warning : text;
      return outcome;
    }
    const acceptedCount = batch.runs.length - rejectedCount;
    const rejected = createRejected(batch, acceptedCount, { status: response.status, text });
    return acceptedCount === 0
      ? rejected.outcome
      : {
          kind: "mixed",
          parts: [{ batch: batch.withRuns(batch.runs.slice(0, acceptedCount)), outcome }, rejected],
        };
  }

  async #sendRequest(batch: Batch, signal: AbortSignal): Promise<HttpResponse> {
    signal.throwIfAborted();
    const out = this.#writeBody(batch);
    try {
      const bytes = out.bytes.subarray(0, out.length);
      const encoding = bytes.length >= compressFromBytes ? this.#serverState.encoding : undefined;
      const body = encoding === undefined ? bytes : compress(bytes, encoding);
      const headers = {
        "content-type": "application/x-protobuf",
        accept: "application/x-protobuf, application/json",
        ...(encoding === undefined ? {} : { "content-encoding": encoding }),
      };
      this.#requestCounts = {
        requests: this.#requestCounts.requests + 1,
        bytes: this.#requestCounts.bytes + body.length,
      };
      this.#traffic.countRequest(body.length);
      if (!this.#hasSentRequest) {
        this.#hasSentRequest = true;
        void recordMissingConnection(this.#traffic);
      }
      const request = { method: "POST", path: "", body, headers } as const;
      const response = await this.#requester.requestBytes(request, signal);
      if (!isWebPage(readBody(response).toString("utf8"))) {
        this.#traffic.countResponse();
      }
      return response;
    } finally {
      this.#buffers.release(out.bytes);
    }
  }

  /** @throws UnwritableBatchError if the batch can't be written, or there is not enough memory. */
  #writeBody(batch: Batch): JsonWriter {
    try {
      const out = new JsonWriter(this.#buffers.take(Math.ceil(batch.sizeBytes * 1.5)));
      // A batch of spans has the same body in every format.
      batch.writeBody(out, "batch");
      return out;
    } catch (error) {
      throw new UnwritableBatchError(String(error), { cause: error });
    }
  }
}

/** Creates the result for the runs of a batch from the index `start` on, which the backend rejected. */
function createRejected(
  batch: Batch,
  start: number,
  { status, text }: { readonly status: number; readonly text: string },
): BatchResult {
  const { length } = batch.runs;
  const suffix =
    start === 0 ? "" : ` (it rejected ${length - start} of ${length} spans without naming them)`;
  const reason = text === "" ? "the backend gave no reason" : text;
  return {
    batch: batch.withRuns(batch.runs.slice(start)),
    outcome: {
      kind: "rejected",
      rejection: { code: "HTTP", status, message: `Failed to ${action}: ${reason}${suffix}` },
    },
  };
}

const readBody = ({ body, chunks }: HttpResponse): Buffer =>
  chunks === undefined ? Buffer.from(body) : Buffer.concat(chunks);
