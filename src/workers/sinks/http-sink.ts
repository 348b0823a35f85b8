import type { HttpResponse } from "../../transport/response.ts";
import { Requester } from "../../transport/requester.ts";
import type { Transport } from "../../transport/transport.ts";
import type { Connection } from "../../model/options/connection.ts";
import { endpoints } from "../../model/endpoints.ts";
import type { Endpoint } from "../../model/endpoints.ts";
import { namesVersion, parseServerInfo } from "../../model/resources/server-info.ts";
import type { SharedTraffic } from "../../model/records/shared-traffic.ts";
import { totalAttachmentBytes, createStreamedBody } from "../json/attachment-parts.ts";
import type { AttachmentInsert } from "../json/attachment-parts.ts";
import type { SenderReport } from "../../model/records/sender-report.ts";
import { uiEndpoints } from "../../model/ui-endpoints.ts";
import { isPage, classifyFailure, classifyBatch, parseJson } from "./classify-response.ts";
import { compress } from "./compression.ts";
import { FrameBuffers, contentTypes } from "./frame.ts";
import type { FrameFormat } from "./frame.ts";
import { JsonWriter } from "../json/json-writer.ts";
import type { ContentDraft, ContentDeduplication } from "../json/content-deduplication.ts";
import type { ServerState } from "./server-state.ts";
import { resultParts } from "./sink.ts";
import type { Batch, BatchResult, Outcome, Sink } from "./sink.ts";
import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";

const reusedFramesBytes = 33_554_432;
/** A compressed body may not pay below this. */
const compressFromBytes = 1_024;

/** A batch could not be written: no failure of the server's. */
class FrameError extends Error {}

/** What one client's requests have in common. */
export interface HttpSinkOptions {
  readonly connection: Connection;
  readonly dispatcher: Transport;
  readonly state: ServerState;
  /** Counts requests and responses. */
  readonly traffic: SharedTraffic;
  /** What the server is known to hold, where it is not sent again. */
  readonly content?: ContentDeduplication | undefined;
}

/** Sends batches over pooled connections. One request a batch, in the best format the server takes. */
export class HttpSink implements Sink {
  readonly #traffic: SharedTraffic;
  #sent = { requests: 0, bytes: 0 };
  readonly #requester: Requester;
  readonly #state: ServerState;
  readonly #buffers = new FrameBuffers(reusedFramesBytes);
  readonly #semaphore: Semaphore;
  readonly #content: ContentDeduplication | undefined;
  #hasTried = false;

  constructor({ connection, dispatcher, state, traffic, content }: HttpSinkOptions) {
    this.#traffic = traffic;
    this.#content = content;
    this.#requester = new Requester(connection, dispatcher);
    this.#state = state;
    this.#semaphore = new Semaphore(connection.requestsInFlight);
  }

  /** Requests that were sent since the last call, and the bytes of their bodies. */
  takeSent(): { readonly requests: number; readonly bytes: number } {
    const taken = this.#sent;
    this.#sent = { requests: 0, bytes: 0 };
    return taken;
  }

  /** Sends a batch, or its runs one by one to a server that takes no batches. */
  async send(batch: Batch, signal: AbortSignal): Promise<Outcome> {
    return this.#send(batch, { signal, isInline: false });
  }

  async #send(batch: Batch, how: SendOptions): Promise<Outcome> {
    const { signal, isInline } = how;
    for (;;) {
      const isPlaced = batch.runs.every(({ batchable }) => batchable);
      const inChunks = !isInline && this.#deduplicatesContent;
      const isSmall = batch.isSmall && !inChunks;
      const format = isPlaced ? this.#state.formatFor({ isSmall }) : "single";
      if (format === "single" && batch.runs.length > 1) {
        return this.#sendSingly(batch, signal);
      }
      // For this try alone: at the next one the server may take attachments again.
      const sent = format === "multipart" ? batch : batch.withoutAttachments();
      const endpoint = endpointOf(sent, format);
      const content = format === "multipart" && inChunks ? this.#content?.createDraft() : undefined;
      let response: HttpResponse;
      try {
        response = await this.#semaphore.run(() =>
          this.#try({ batch: sent, format, content }, signal),
        );
      } catch (failure) {
        return failure instanceof FrameError
          ? { kind: "unwritable", reason: failure.message }
          : classifyFailure(endpoint.action, failure);
      }
      if (response.status === 415 && this.#state.encoding !== undefined) {
        this.#state.refuseEncoding();
        continue;
      }
      if (response.status === 415 && content !== undefined) {
        content.recordResponse(batch.runs);
        return this.#send(batch, { signal, isInline: true });
      }
      const isMissing = response.status === 404 || response.status === 405;
      if (!isMissing || format === "single") {
        if (isMissing && endpoint.path === endpoints.createRun.path) {
          this.#state.forgetMisses();
        }
        const outcome = classifyBatch(sent, endpoint.action, response);
        if (content !== undefined) {
          return this.#learn({ batch, outcome }, content, signal);
        }
        return sent === batch || outcome.kind === "retry"
          ? outcome
          : { kind: "mixed", parts: [{ batch: sent, outcome }] };
      }
      this.#state.miss(format);
    }
  }

  /**
   * Requests `/info`. No run waits for it, and a failure changes nothing. A 2xx response without a version may come from
   * something else than a server of runs, which is noted. A server without `/info`, or with one that requires a login, is not
   * noted: many servers that accept runs are like that.
   *
   * @throws the reason why there is no response, or why it can't be read.
   */
  async readInfo(signal: AbortSignal): Promise<void> {
    const response = await this.#requester.request(endpoints.readInfo, signal);
    if (!isPage(response.body)) {
      this.#traffic.countResponse();
    }
    if (response.status === 200) {
      const body = parseJson(response.body);
      if (!namesVersion(body)) {
        this.#traffic.noteStrangeServer();
      }
      if (body !== undefined) {
        this.#state.learn(parseServerInfo(body));
      }
    } else if (response.status === 404) {
      this.#state.known = true;
    }
  }

  /**
   * Sends the counts of this client to the server, for its UI. Sent once; the response is not read.
   *
   * @throws the reason why there is no response.
   */
  async report(report: SenderReport, signal: AbortSignal): Promise<void> {
    const { method, path } = uiEndpoints.reportSender;
    const body = Buffer.from(JSON.stringify(report));
    const headers = { "content-type": "application/json" };
    await this.#requester.request({ method, path, body, headers }, signal);
  }

  /** Whether requests may leave out what the server has: the options and the server have it so. */
  get #deduplicatesContent(): boolean {
    return this.#content !== undefined && this.#state.info.contentDeduplication;
  }

  /**
   * The server has what it took. What it refused it may have refused for a reference that it could not
   * follow, having forgotten or never known: that goes once more as it is, and only then counts.
   */
  async #learn(judged: BatchResult, content: ContentDraft, signal: AbortSignal): Promise<Outcome> {
    const parts = resultParts(judged);
    const refused = parts.filter(isToSendInline);
    if (parts.some(({ outcome }) => outcome.kind === "retry")) {
      return judged.outcome;
    }
    const runs = refused.flatMap(({ batch }) => batch.runs);
    content.recordResponse(runs);
    if (runs.length === 0) {
      return judged.outcome;
    }
    const batch = judged.batch.part(runs);
    const again = await this.#send(batch, { signal, isInline: true });
    const rest = parts.filter((part) => !refused.includes(part));
    return { kind: "mixed", parts: [...rest, { batch, outcome: again }] };
  }

  async #sendSingly(batch: Batch, signal: AbortSignal): Promise<Outcome> {
    const parts = await Promise.all(
      batch.runs.map(async (run) => {
        const single = batch.part([run]);
        return { batch: single, outcome: await this.send(single, signal) };
      }),
    );
    return { kind: "mixed", parts };
  }

  async #try({ batch, format, content }: Attempt, signal: AbortSignal): Promise<HttpResponse> {
    signal.throwIfAborted();
    const { method, path } = endpointOf(batch, format);
    const { out, inserts } = this.#written(batch, format, content);
    // A body that is streamed may be read for a while after its answer.
    const isKept = inserts.length > 0;
    try {
      const frame = out.bytes.subarray(0, out.length);
      const sizeBytes = frame.length + totalAttachmentBytes(inserts);
      if (this.#isToDivide(batch, { frameBytes: frame.length, sizeBytes })) {
        // What escapes add is known only now: the server's answer, without its trouble.
        return { status: 413, body: `${sizeBytes} bytes` };
      }
      const isPlain = inserts.length === 0 && frame.length >= compressFromBytes;
      const encoding = isPlain ? this.#state.encoding : undefined;
      const compressed = encoding === undefined ? frame : compress(frame, encoding);
      const body = inserts.length === 0 ? compressed : createStreamedBody(frame, inserts);
      const headers = {
        "content-type": contentTypes[format],
        ...(encoding === undefined ? {} : { "content-encoding": encoding }),
      };
      const sentBytes = inserts.length === 0 ? compressed.length : sizeBytes;
      this.#sent.requests += 1;
      this.#sent.bytes += sentBytes;
      this.#traffic.countRequest(sentBytes);
      if (!this.#hasTried) {
        this.#hasTried = true;
        void noteMissingConnection(this.#traffic);
      }
      const response = await this.#requester.request({ method, path, body, headers }, signal);
      if (!isPage(response.body)) {
        this.#traffic.countResponse();
      }
      return response;
    } finally {
      if (!isKept) {
        this.#buffers.give(out.bytes);
      }
    }
  }

  /** @throws FrameError it can't be written, or not within the memory there is. */
  #written(batch: Batch, format: FrameFormat, content: ContentDraft | undefined): Written {
    try {
      const out = new JsonWriter(this.#buffers.take(Math.ceil(batch.sizeBytes * 1.2)));
      return { out, inserts: batch.frame(out, format, content) };
    } catch (error) {
      throw new FrameError(String(error), { cause: error });
    }
  }

  /**
   * Whether the batch is larger than the limit in `/info`, and can be divided. A single attachment is sent all the same: it is
   * left out only where the server refuses it.
   */
  #isToDivide(batch: Batch, { frameBytes, sizeBytes }: FrameSize): boolean {
    const { batchBytes } = this.#state.info;
    if (sizeBytes <= batchBytes) {
      return false;
    }
    return (
      batch.runs.length > 1 ||
      batch.shares().length > 0 ||
      (frameBytes > batchBytes && batch.lighter().length > 0)
    );
  }
}

/** How a batch is sent. */
interface SendOptions {
  readonly signal: AbortSignal;
  /** Whether payloads go as they are, whatever the server has of them. */
  readonly isInline: boolean;
}

/** What may mean that a server could not read pieces; of several runs that are too much, half are tried first. */
const isToSendInline = ({ batch, outcome }: BatchResult): boolean => {
  const status = outcome.kind === "rejected" ? outcome.rejection.status : undefined;
  return status === 400 || status === 422 || (status === 413 && batch.runs.length === 1);
};

interface Attempt {
  readonly batch: Batch;
  readonly format: FrameFormat;
  readonly content: ContentDraft | undefined;
}

interface Written {
  readonly out: JsonWriter;
  readonly inserts: readonly AttachmentInsert[];
}

interface FrameSize {
  /** Without attachments. */
  readonly frameBytes: number;
  readonly sizeBytes: number;
}

function endpointOf(batch: Batch, format: FrameFormat): Endpoint {
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

/** Lets at most so many callers in at once; the others wait in line. */
class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(places: number) {
    this.#free = places;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) {
      this.#free -= 1;
    } else {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) {
        this.#free += 1;
      } else {
        next();
      }
    }
  }
}

/** Half of what an end waits for a server that was never reached. */
const halfMs = 450;

/**
 * Notes that no connection was made within about a second. The time is split, and the last word is left to a turn
 * of the event loop: a thread that is busy with writing bodies would else find its timer due before the connection,
 * which the operating system made long ago.
 */
export async function noteMissingConnection(traffic: SharedTraffic): Promise<void> {
  for (let half = 0; half < 2; half++) {
    await delay(halfMs, undefined, { ref: false });
    await nextTurn();
  }
  if (traffic.connections === 0) {
    traffic.noteUnconnected();
  }
}
