import type { HttpResponse } from "../../transport/response.ts";
import { Requester } from "../../transport/requester.ts";
import type { Transport } from "../../transport/transport.ts";
import type { Connection } from "../../model/options/connection.ts";
import { endpoints } from "../../model/endpoints.ts";
import type { Endpoint } from "../../model/endpoints.ts";
import { hasVersion, parseServerInfo } from "../../model/resources/server-info.ts";
import type { SharedTraffic } from "../../model/records/shared-traffic.ts";
import { sumAttachmentBytes, createStreamedBody } from "../json/attachment-parts.ts";
import type { AttachmentInsert } from "../json/attachment-parts.ts";
import type { StatsReport } from "../../model/records/stats-report.ts";
import { uiEndpoints } from "../../model/ui-endpoints.ts";
import { isWebPage, classifyFailure, classifyBatch, parseJson } from "./classify-response.ts";
import { compress, compressFromBytes } from "./compression.ts";
import { recordMissingConnection } from "./missing-connection.ts";
import { BodyBuffers, contentTypes } from "./request-body.ts";
import type { BodyFormat } from "./request-body.ts";
import { JsonWriter } from "../json/json-writer.ts";
import type { ContentDraft, ContentDeduplication } from "../json/content-deduplication.ts";
import { Semaphore } from "./semaphore.ts";
import type { ServerState } from "./server-state.ts";
import { flattenResult, UnwritableBatchError } from "./sink.ts";
import type { Batch, BatchResult, Outcome, RequestCounts, TrafficSink } from "./sink.ts";

/** Maximum bytes of unused output buffers that are kept for reuse. */
const maxReusedBytes = 33_554_432;

/** Objects that all requests of one client share. */
export interface HttpSinkOptions {
  readonly connection: Connection;
  readonly transport: Transport;
  readonly state: ServerState;
  /** Counts the requests of this client and the responses to them, for `client.stats()`. */
  readonly traffic: SharedTraffic;
  /** The content that the server already has; absent if content deduplication is off. */
  readonly content?: ContentDeduplication | undefined;
}

/**
 * Sends batches over pooled connections, one request per batch, in the best format that the server
 * supports.
 */
export class HttpSink implements TrafficSink {
  readonly #traffic: SharedTraffic;
  #requestCounts = { requests: 0, bytes: 0 };
  readonly #requester: Requester;
  readonly #serverState: ServerState;
  readonly #buffers = new BodyBuffers(maxReusedBytes);
  readonly #semaphore: Semaphore;
  readonly #sentContent: ContentDeduplication | undefined;
  #hasSentRequest = false;

  constructor({ connection, transport, state, traffic, content }: HttpSinkOptions) {
    this.#traffic = traffic;
    this.#sentContent = content;
    this.#requester = new Requester(connection, transport);
    this.#serverState = state;
    this.#semaphore = new Semaphore(connection.requestsInFlight);
  }

  takeRequestCounts(): RequestCounts {
    const takenCounts = this.#requestCounts;
    this.#requestCounts = { requests: 0, bytes: 0 };
    return takenCounts;
  }

  /** Returns nothing, because a server has no warnings about runs that it accepts. */
  takeWarning(): undefined {
    return undefined;
  }

  /** Sends a batch, or each of its runs alone if the server does not support batches. */
  async send(batch: Batch, signal: AbortSignal): Promise<Outcome> {
    return this.#send(batch, { signal, hasFullPayloads: false });
  }

  async #send(batch: Batch, options: SendOptions): Promise<Outcome> {
    const { signal, hasFullPayloads } = options;
    for (;;) {
      const isBatchable = batch.runs.every((run) => run.isBatchable);
      const writesChunks = !hasFullPayloads && this.#deduplicatesContent;
      const isSmall = batch.isSmall && !writesChunks;
      const format = isBatchable ? this.#serverState.chooseFormat({ isSmall }) : "single";
      if (format === "single" && batch.runs.length > 1) {
        return this.#sendOneByOne(batch, signal);
      }
      // Attachments are replaced only for this attempt: at the next one the server may accept them again.
      const batchToSend = format === "multipart" ? batch : batch.replaceAttachments();
      const endpoint = selectEndpoint(batchToSend, format);
      const content =
        format === "multipart" && writesChunks ? this.#sentContent?.createDraft() : undefined;
      let response: HttpResponse;
      try {
        response = await this.#semaphore.run(() =>
          this.#sendRequest({ batch: batchToSend, format, content }, signal),
        );
      } catch (failure) {
        return failure instanceof UnwritableBatchError
          ? { kind: "unwritable", reason: failure.message }
          : classifyFailure(endpoint.action, failure);
      }
      if (response.status === 415 && this.#serverState.encoding !== undefined) {
        this.#serverState.recordRefusedEncoding();
        continue;
      }
      if (response.status === 415 && content !== undefined) {
        content.recordResponse(batch.runs);
        return this.#send(batch, { signal, hasFullPayloads: true });
      }
      const isMissing = response.status === 404 || response.status === 405;
      if (!isMissing || format === "single") {
        if (isMissing && endpoint.path === endpoints.createRun.path) {
          this.#serverState.resetMissingPaths();
        }
        const outcome = classifyBatch(batchToSend, endpoint.action, response);
        if (content !== undefined) {
          return this.#applyResponse({ batch, outcome }, content, signal);
        }
        return batchToSend === batch || outcome.kind === "retry"
          ? outcome
          : { kind: "mixed", parts: [{ batch: batchToSend, outcome }] };
      }
      this.#serverState.recordMissingPath(format);
    }
  }

  /**
   * Requests `/info`. Runs are sent without waiting for it, and a failure changes nothing. If a 200 response contains
   * no version, this is recorded, because such a server may not accept runs. A missing `/info`, or one that requires a
   * login, is not recorded, because many servers that accept runs respond like this.
   *
   * @throws the reason why there is no response, or why it can't be read.
   */
  async readInfo(signal: AbortSignal): Promise<void> {
    const response = await this.#requester.request(endpoints.readInfo, signal);
    if (!isWebPage(response.body)) {
      this.#traffic.countResponse();
    }
    if (response.status === 200) {
      const body = parseJson(response.body);
      if (!hasVersion(body)) {
        this.#traffic.recordVersionlessServer();
      }
      if (body !== undefined) {
        this.#serverState.updateInfo(parseServerInfo(body));
      }
    } else if (response.status === 404) {
      this.#serverState.isInfoKnown = true;
    }
  }

  /**
   * Reports to the server how many records this client accepted, delivered, rejected, dropped and so on; the server's
   * UI shows these numbers. A failed request is not repeated, and the response is not evaluated.
   *
   * @throws the reason why there is no response.
   */
  async report(report: StatsReport, signal: AbortSignal): Promise<void> {
    const { method, path } = uiEndpoints.reportStats;
    const body = Buffer.from(JSON.stringify(report));
    const headers = { "content-type": "application/json" };
    await this.#requester.request({ method, path, body, headers }, signal);
  }

  /**
   * Whether requests may leave out content that the server already has. Both the options and the server must allow it.
   */
  get #deduplicatesContent(): boolean {
    return this.#sentContent !== undefined && this.#serverState.serverInfo.contentDeduplication;
  }

  /**
   * Records, after a response, that the server now has the content of the runs that it accepted. The server may have
   * rejected a run because a reference in it pointed to content that the server forgot or never received. Such runs are
   * sent once more in full, and only the result of the second attempt is used.
   */
  async #applyResponse(
    result: BatchResult,
    content: ContentDraft,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const parts = flattenResult(result);
    const refused = parts.filter(mayBeUnresolvedReference);
    if (parts.some(({ outcome }) => outcome.kind === "retry")) {
      return result.outcome;
    }
    const runs = refused.flatMap(({ batch }) => batch.runs);
    content.recordResponse(runs);
    if (runs.length === 0) {
      return result.outcome;
    }
    const batch = result.batch.withRuns(runs);
    const retriedOutcome = await this.#send(batch, { signal, hasFullPayloads: true });
    const otherParts = parts.filter((part) => !refused.includes(part));
    return { kind: "mixed", parts: [...otherParts, { batch, outcome: retriedOutcome }] };
  }

  async #sendOneByOne(batch: Batch, signal: AbortSignal): Promise<Outcome> {
    const parts = await Promise.all(
      batch.runs.map(async (run) => {
        const singleRunBatch = batch.withRuns([run]);
        return { batch: singleRunBatch, outcome: await this.send(singleRunBatch, signal) };
      }),
    );
    return { kind: "mixed", parts };
  }

  async #sendRequest(
    { batch, format, content }: Attempt,
    signal: AbortSignal,
  ): Promise<HttpResponse> {
    signal.throwIfAborted();
    const { method, path } = selectEndpoint(batch, format);
    const { out, inserts } = this.#writeBody(batch, format, content);
    // A streamed body may be read for a while after its response arrived, so its buffer is not reused.
    const isStreamed = inserts.length > 0;
    try {
      const uncompressedBody = out.bytes.subarray(0, out.length);
      const sizeBytes = uncompressedBody.length + sumAttachmentBytes(inserts);
      if (
        this.#mustDivide(batch, { bytesWithoutAttachments: uncompressedBody.length, sizeBytes })
      ) {
        // The number of bytes that escaping adds is known only now. The result is the same as a 413 from the server,
        // without sending the request.
        return { status: 413, body: `${sizeBytes} bytes` };
      }
      const isCompressible = inserts.length === 0 && uncompressedBody.length >= compressFromBytes;
      const encoding = isCompressible ? this.#serverState.encoding : undefined;
      const compressed =
        encoding === undefined ? uncompressedBody : compress(uncompressedBody, encoding);
      const body =
        inserts.length === 0 ? compressed : createStreamedBody(uncompressedBody, inserts);
      const headers = {
        "content-type": contentTypes[format],
        ...(encoding === undefined ? {} : { "content-encoding": encoding }),
      };
      const sentBytes = inserts.length === 0 ? compressed.length : sizeBytes;
      this.#requestCounts.requests += 1;
      this.#requestCounts.bytes += sentBytes;
      this.#traffic.countRequest(sentBytes);
      if (!this.#hasSentRequest) {
        this.#hasSentRequest = true;
        void recordMissingConnection(this.#traffic);
      }
      const response = await this.#requester.request({ method, path, body, headers }, signal);
      if (!isWebPage(response.body)) {
        this.#traffic.countResponse();
      }
      return response;
    } finally {
      if (!isStreamed) {
        this.#buffers.release(out.bytes);
      }
    }
  }

  /**
   * Writes the body of a request.
   *
   * @throws UnwritableBatchError if the batch can't be written, or there is not enough memory.
   */
  #writeBody(batch: Batch, format: BodyFormat, content: ContentDraft | undefined): WrittenBody {
    try {
      const out = new JsonWriter(this.#buffers.take(Math.ceil(batch.sizeBytes * 1.2)));
      return { out, inserts: batch.writeBody(out, format, content) };
    } catch (error) {
      throw new UnwritableBatchError(String(error), { cause: error });
    }
  }

  /**
   * Whether the batch is larger than the limit in `/info` and can be divided. A single attachment
   * is sent even if it is too large: it is replaced by a marker only after the server refused it.
   */
  #mustDivide(batch: Batch, { bytesWithoutAttachments, sizeBytes }: BodySize): boolean {
    const { batchBytes } = this.#serverState.serverInfo;
    if (sizeBytes <= batchBytes) {
      return false;
    }
    return (
      batch.runs.length > 1 ||
      batch.separateAttachments().length > 0 ||
      (bytesWithoutAttachments > batchBytes && batch.splitSingleRun().length > 0)
    );
  }
}

/** How to send a batch. */
interface SendOptions {
  readonly signal: AbortSignal;
  /** Whether payloads are sent in full, even if the server already has a part of their content. */
  readonly hasFullPayloads: boolean;
}

/**
 * Whether a failure may mean that the server could not resolve a reference to earlier content. A
 * batch of several runs that is too large is divided instead.
 */
const mayBeUnresolvedReference = ({ batch, outcome }: BatchResult): boolean => {
  const status = outcome.kind === "rejected" ? outcome.rejection.status : undefined;
  return status === 400 || status === 422 || (status === 413 && batch.runs.length === 1);
};

/** One attempt to send a batch. */
interface Attempt {
  readonly batch: Batch;
  readonly format: BodyFormat;
  readonly content: ContentDraft | undefined;
}

/** A request body in memory, and the attachments to insert into it while it is sent. */
interface WrittenBody {
  readonly out: JsonWriter;
  readonly inserts: readonly AttachmentInsert[];
}

/** The size of a request body in bytes, without and with attachments. */
interface BodySize {
  /** Bytes of the request body without attachments. */
  readonly bytesWithoutAttachments: number;
  readonly sizeBytes: number;
}

function selectEndpoint(batch: Batch, format: BodyFormat): Endpoint {
  switch (format) {
    case "multipart":
      return endpoints.sendMultipart;
    case "batch":
      return endpoints.sendBatch;
    case "single": {
      const [run] = batch.runs;
      return run?.operation === "patch"
        ? { ...endpoints.updateRun, path: endpoints.updateRun.path.replace(":id", run.id) }
        : endpoints.createRun;
    }
  }
}
