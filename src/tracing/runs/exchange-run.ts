import { clock } from "../../model/clock.ts";
import { microsToIso } from "../../model/dotted-order.ts";
import type { ExchangeEnding, ExchangeFormat } from "../../model/records/exchange.ts";
import type { RunEvent } from "../../model/run.ts";
import type { KeyTable } from "../../model/unknown-keys.ts";
import { uncountedLosses } from "../queue/ledger.ts";
import { BodyCollector } from "../tape/body-collector.ts";
import { formatError } from "../tape/error-text.ts";
import { recorder } from "../tape/recorder.ts";
import type { ExchangeBody, ExchangeContent, Recorder, TracingClient } from "../tape/recorder.ts";
import { startWithCheckedOptions } from "./context.ts";
import type { StartOptions } from "./context.ts";
import { readName } from "./run-options.ts";
import { noopClient } from "./run-tree.ts";
import type { RunTree } from "./run-tree.ts";
import { warnOfUnknown } from "./unknown-options.ts";

/**
 * Counts losses that no client has counted yet, for example because the call stack was exhausted. This is a local
 * reference to the imported object: a bundler may turn an import into a getter, which can't be called on an exhausted
 * stack.
 */
const localUncountedLosses = uncountedLosses;

/** A body in the form in which the program has it. Bytes are copied during the call. */
export type ExchangeBytes = string | ArrayBufferView | ArrayBuffer;

/** Options of `client.recordExchange`: those of a run, and the facts about the request. */
export interface ExchangeOptions extends Omit<
  StartOptions,
  "inputs" | "attachments" | "serialized"
> {
  /** The API that is called, which decides how workers read the bytes. */
  readonly format: ExchangeFormat;
  /** The request's body. Pass it later to {@link ExchangeRun.addRequest} if it is not known yet. */
  readonly request?: ExchangeBytes | undefined;
  /** Content type of the request's body. */
  readonly requestType?: string | undefined;
  /** Host and path of the request. Pass it without query and credentials, because it is recorded unchanged. */
  readonly url?: string | undefined;
  /** A plain value in place of the request's body, for a format without bytes, such as `otel.span`. */
  readonly value?: unknown;
  /**
   * Whether the run is recorded only when it ends, by one record with the value that is passed to {@link
   * ExchangeRun.end}. Use it for work whose description is available only when it has ended, such as a span.
   *
   * @defaultValue false
   */
  readonly recordedAtEnd?: boolean | undefined;
}

/** What is known about a response when its headers have arrived. */
export interface ExchangeResponse {
  readonly status: number;
  readonly contentType?: string | undefined;
  /** The id by which the API's operator can find the request. */
  readonly requestId?: string | undefined;
}

/** How an exchange ended. */
export interface ExchangeEnd {
  /** @defaultValue `failed` with an error, else `complete` */
  readonly ending?: ExchangeEnding | undefined;
  /** What was thrown, if the request failed or the response could not be read. */
  readonly error?: unknown;
  /** A plain value in place of the response's body, for a format without bytes, such as `otel.span`. */
  readonly value?: unknown;
  /** Milliseconds since the Unix epoch, with fraction. Only with `recordedAtEnd`. @defaultValue now */
  readonly endTime?: number | undefined;
}

const optionNames: KeyTable<ExchangeOptions> = {
  id: 1,
  name: 1,
  runType: 1,
  tags: 1,
  metadata: 1,
  threadId: 1,
  userId: 1,
  projectName: 1,
  referenceExampleId: 1,
  startTime: 1,
  parent: 1,
  format: 1,
  request: 1,
  requestType: 1,
  url: 1,
  value: 1,
  recordedAtEnd: 1,
};

/** One attempt to send the request. */
interface Attempt {
  readonly startMicros: number;
  response?: ExchangeResponse;
  firstChunkMicros?: number;
}

/**
 * A request larger than this (in bytes, or in UTF-16 units for a text) is not repeated in the record of the run's end.
 * The metadata of that record then lacks the request's settings.
 */
const maxRepeatedBytes = 262_144;
/** Maximum number of attempts of one run that are recorded as events. */
const maxAttemptEvents = 100;
/** Limit of a recorded body, in bytes, for a client that has no limit of its own. */
const defaultBodyBytes = 1_048_576;
const microsPerMs = 1_000;

/**
 * Paths of requests whose response arrives part by part, whatever its content type is: Gemini can send one JSON array.
 */
const streamPaths = /:stream\w+$/;
/** Content types of responses that arrive part by part. */
const streamTypes = /event-stream|ndjson|jsonl|json-seq/i;

/**
 * A run that consists of one call of a remote API, recorded as bytes. A worker reads the run's inputs, outputs, error,
 * model and token usage from these bytes. This thread only copies the bodies.
 *
 * States: open, then ended by the first call of {@link ExchangeRun.end}. {@link ExchangeRun.beginAttempt} opens it
 * again: the last attempt decides the outputs, the error and the end time. No method throws.
 */
export class ExchangeRun {
  /** The run. Use it as a parent or to propagate the trace; its outcome is recorded by the methods of this object. */
  readonly run: RunTree;
  readonly #recorder: Recorder;
  readonly #format: string;
  readonly #name: string | undefined;
  readonly #runType: string | undefined;
  readonly #url: string | undefined;
  readonly #isRecorded: boolean;
  readonly #isRecordedAtEnd: boolean;
  readonly #bodyBytes: number;
  readonly #warnings = new Set<string>();
  readonly #events: RunEvent[] = [];
  #attemptCount = 1;
  #attempt: Attempt;
  /** The request, for the record of the end; absent if it is too large to be recorded twice. */
  #request: ExchangeContent | undefined;
  readonly #response: BodyCollector;
  #isEnded = false;
  /** Whether the run was ended only because nothing had read its response. */
  #isEndedUnread = false;
  /** Whether an end was recorded before. The next record of an end must then clear the error of the earlier one. */
  #hasEndRecord = false;

  /** For internal use. Programs call `client.recordExchange`. */
  constructor(client: TracingClient, options: ExchangeOptions) {
    const runRecorder = client[recorder];
    warnOfUnknown(options, optionNames, runRecorder);
    const { format, request, requestType, url, value, recordedAtEnd, ...runOptions } = options;
    this.#recorder = runRecorder;
    this.#format = format;
    this.#name = readName(runOptions.name);
    this.#runType = readName(runOptions.runType);
    this.#url = readName(url);
    this.#isRecordedAtEnd = recordedAtEnd === true;
    this.#bodyBytes = runRecorder.exchangeBytes ?? defaultBodyBytes;
    this.run = startWithCheckedOptions(client, runOptions, false);
    this.#isRecorded = this.run.sampled && runRecorder.recordExchange !== undefined;
    this.#attempt = { startMicros: this.run.startMicros };
    this.#response = new BodyCollector(this.#bodyBytes);
    if (this.#isRecorded && !this.#isRecordedAtEnd) {
      const isKnown = request !== undefined || value !== undefined;
      const requestContent = this.#createRequest(request, {
        contentType: readName(requestType),
        value,
      });
      const content = isKnown ? requestContent : { ...requestContent, isWithheld: true };
      if (isKnown) {
        this.#keepForEnd(content);
      }
      runRecorder.recordExchange?.({
        operation: "post",
        run: this.run,
        name: this.#name,
        runType: this.#runType,
        exchanges: [content],
      });
    }
  }

  /** Whether the run is recorded. If it is not, because of sampling, no other method has an effect. */
  get isRecorded(): boolean {
    return this.#isRecorded;
  }

  /** Number of the current attempt, counted from 1. */
  get attempt(): number {
    return this.#attemptCount;
  }

  /**
   * Adds the request's body, if it was not known at the start. It is recorded with the run's end, or at once if the run
   * has ended.
   */
  addRequest(request: ExchangeBytes, contentType?: string): void {
    try {
      if (!this.#isRecorded) {
        return;
      }
      const content = this.#createRequest(request, { contentType: readName(contentType) });
      // It is not marked as repeated, so the run's inputs are read from it.
      this.#request = { ...content, body: copyBody(content.body) };
      if (this.#isEnded) {
        this.#recorder.recordExchange?.({
          operation: "patch",
          run: this.run,
          name: this.#name,
          runType: this.#runType,
          exchanges: [{ ...content, hidesMetadata: true }],
          keepsMetadata: true,
        });
      }
    } catch {
      localUncountedLosses.details += 1;
    }
  }

  /**
   * Reports the headers of the response. Until {@link ExchangeRun.startReading}, the response counts as unread: a flush
   * of the client ends the run, and reading opens it again.
   */
  respond(response: ExchangeResponse): void {
    try {
      if (this.#isRecorded && !this.#isEnded) {
        this.#attempt.response = { ...response };
        getUnreadExchanges(this.#recorder).add(this);
      }
    } catch {
      localUncountedLosses.details += 1;
    }
  }

  /** Reports that the program begins to read the response's body. */
  startReading(): void {
    try {
      getUnreadExchanges(this.#recorder).delete(this);
      if (this.#isEndedUnread) {
        this.#isEndedUnread = false;
        this.#isEnded = false;
        this.#events.pop();
        this.#warnings.delete(unreadWarning);
      }
    } catch {
      localUncountedLosses.details += 1;
    }
  }

  /**
   * Reports that the program stopped reading the body before its end. If it does not continue, the next flush of the
   * client ends the run.
   */
  stopReading(): void {
    try {
      if (this.#isRecorded && !this.#isEnded) {
        getUnreadExchanges(this.#recorder).add(this);
      }
    } catch {
      localUncountedLosses.details += 1;
    }
  }

  /** Copies a chunk of the response's body. */
  addChunk(chunk: Uint8Array): void {
    try {
      if (!this.#isRecorded) {
        return;
      }
      if (this.#response.totalBytes === 0) {
        this.startReading();
        this.#attempt.firstChunkMicros = clock();
      }
      if (!this.#isEnded) {
        this.#response.add(chunk);
      }
    } catch {
      // The memory or the stack is exhausted. The end of the run is still recorded.
      localUncountedLosses.details += 1;
    }
  }

  /** Adds a text to the run's metadata that states what could not be recorded. */
  addWarning(text: string): void {
    try {
      if (this.#warnings.size < maxWarnings) {
        this.#warnings.add(text);
      }
    } catch {
      localUncountedLosses.details += 1;
    }
  }

  /**
   * Begins another attempt to send the same request, after the end of the previous one. The body of the previous
   * response is replaced.
   */
  beginAttempt(): void {
    try {
      this.end({ ending: "cancelled" });
      this.#attemptCount += 1;
      this.#attempt = { startMicros: clock() };
      this.#response.clear();
      this.#isEnded = false;
      this.#isEndedUnread = false;
    } catch {
      localUncountedLosses.records += 1;
    }
  }

  /** Ends the run. Ignored after it ended, unless another attempt began. */
  end(end: ExchangeEnd = {}): void {
    try {
      this.#end(end);
    } catch {
      localUncountedLosses.records += 1;
    }
  }

  /** @internal Ends the run because nothing reads its response. */
  endUnread(): void {
    const isUnread = this.#response.totalBytes === 0;
    this.addWarning(isUnread ? unreadWarning : abandonedWarning);
    this.end({ ending: "cancelled" });
    // If the response is read later, the run is opened again, but only if none of the body was recorded before: the
    // recorded part is no longer in memory, so the rest can't be added to it.
    this.#isEndedUnread = isUnread;
  }

  #end({ ending, error, value, endTime }: ExchangeEnd): void {
    if (this.#isEnded) {
      return;
    }
    this.#isEnded = true;
    if (!this.#isRecorded) {
      this.run.end();
      return;
    }
    if (this.#isRecordedAtEnd) {
      this.#recordWhole(value, endTime);
      return;
    }
    getUnreadExchanges(this.#recorder).delete(this);
    const endMicros = Math.max(clock(), this.#attempt.startMicros);
    const errorText =
      error === undefined ? undefined : formatError(error, () => this.#recorder.truncated());
    this.#addAttemptEvent(endMicros, errorText);
    this.#recorder.recordExchange?.({
      operation: "patch",
      run: this.run,
      ...(this.#request === undefined || this.#request.isRepeated === true
        ? {}
        : { name: this.#name, runType: this.#runType }),
      endMicros,
      error: errorText ?? (this.#hasEndRecord ? null : undefined),
      events: [...(this.run.events ?? []), ...this.#events, ...this.#firstChunkEvents()],
      exchanges: [
        ...(this.#request === undefined ? [] : [this.#request]),
        this.#createResponse(ending ?? (error === undefined ? "complete" : "failed"), value),
      ],
    });
    this.#hasEndRecord = true;
    // The record has a copy of the bytes. They are released here, because the program may keep this object.
    this.#response.clear();
    this.run.end();
  }

  /** Records the start and the end of the run by one record. */
  #recordWhole(value: unknown, endTime: number | undefined): void {
    const endMicros = endTime === undefined ? clock() : Math.round(endTime * microsPerMs);
    this.#recorder.recordExchange?.({
      operation: "post",
      run: this.run,
      name: this.#name,
      runType: this.#runType,
      endMicros: Math.max(endMicros, this.run.startMicros),
      exchanges: [{ format: this.#format, part: "call", omittedBytes: 0, body: "", value }],
    });
    this.run.end();
  }

  #addAttemptEvent(endMicros: number, error: string | undefined): void {
    const { startMicros, response } = this.#attempt;
    if (this.#events.length < maxAttemptEvents) {
      this.#events.push({
        name: "attempt",
        time: microsToIso(startMicros),
        kwargs: {
          attempt: this.#attemptCount,
          end_time: microsToIso(endMicros),
          duration_ms: (endMicros - startMicros) / microsPerMs,
          ...(response === undefined ? {} : { status: response.status }),
          ...(response?.requestId === undefined ? {} : { request_id: response.requestId }),
          ...(error === undefined ? {} : { error: error.split("\n", 1)[0] }),
        },
      });
    }
  }

  #firstChunkEvents(): readonly RunEvent[] {
    const { firstChunkMicros, response } = this.#attempt;
    const isStream =
      streamTypes.test(response?.contentType ?? "") || streamPaths.test(this.#url ?? "");
    return firstChunkMicros !== undefined && isStream
      ? [{ name: "new_token", time: microsToIso(firstChunkMicros) }]
      : [];
  }

  #createRequest(
    body: unknown,
    { contentType, value }: { readonly contentType?: string | undefined; readonly value?: unknown },
  ): ExchangeContent {
    return {
      format: this.#format,
      part: "request",
      ...(this.#url === undefined ? {} : { url: this.#url }),
      ...(contentType === undefined ? {} : { contentType }),
      ...limitBody(body, this.#bodyBytes),
      ...(value === undefined ? {} : { value }),
    };
  }

  #createResponse(ending: ExchangeEnding, value: unknown): ExchangeContent {
    const { response } = this.#attempt;
    const { parts, omittedBytes, omittedAt } = this.#response;
    return {
      format: this.#format,
      part: "response",
      ...(this.#url === undefined ? {} : { url: this.#url }),
      ...(response === undefined ? {} : { status: response.status }),
      ...(response?.contentType === undefined ? {} : { contentType: response.contentType }),
      ending,
      omittedBytes,
      ...(omittedBytes === 0 ? {} : { omittedAt }),
      ...(this.#warnings.size === 0 ? {} : { warnings: [...this.#warnings] }),
      body: parts,
      ...(value === undefined ? {} : { value }),
    };
  }

  /** Keeps a small request for the record of the end. A text is kept as it is, bytes are copied. */
  #keepForEnd(content: ExchangeContent): void {
    const { body } = content;
    const isText = typeof body === "string";
    const size = isText ? body.length : body.reduce((sum, { length }) => sum + length, 0);
    if (size <= maxRepeatedBytes) {
      this.#request = { ...content, body: copyBody(body), isRepeated: true };
    }
  }
}

const copyBody = (body: ExchangeBody): ExchangeBody =>
  typeof body === "string" ? body : body.map((part) => Uint8Array.from(part));

const unreadWarning = "The response was not read";
const abandonedWarning = "The response was not read to its end";

/** Maximum number of different warnings that are kept for one run. */
const maxWarnings = 20;

/** Returns the body, without its middle if it is too large. */
function limitBody(
  body: unknown,
  limitBytes: number,
): Pick<ExchangeContent, "body" | "omittedBytes" | "omittedAt"> {
  if (typeof body === "string" && isTextWithin(body, limitBytes)) {
    return { body, omittedBytes: 0 };
  }
  const bytes = toBytes(body);
  if (bytes.length <= limitBytes) {
    return { body: [bytes], omittedBytes: 0 };
  }
  const collector = new BodyCollector(limitBytes);
  collector.add(bytes);
  const { parts, omittedBytes, omittedAt } = collector;
  return { body: parts, omittedBytes, omittedAt };
}

const isTextWithin = (text: string, limitBytes: number): boolean =>
  text.length * maxBytesPerUnit <= limitBytes || Buffer.byteLength(text) <= limitBytes;

/** Maximum number of UTF-8 bytes for one UTF-16 unit. */
const maxBytesPerUnit = 3;

function toBytes(body: unknown): Uint8Array {
  if (typeof body === "string") {
    return Buffer.from(body);
  }
  if (ArrayBuffer.isView(body)) {
    return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  }
  return body instanceof ArrayBuffer ? new Uint8Array(body) : new Uint8Array();
}

/** For each client's recorder: the exchanges whose response has arrived and is not being read. */
const unreadByRecorder = new WeakMap<Recorder, Set<ExchangeRun>>();

function getUnreadExchanges(runRecorder: Recorder): Set<ExchangeRun> {
  let exchanges = unreadByRecorder.get(runRecorder);
  if (exchanges === undefined) {
    exchanges = new Set();
    unreadByRecorder.set(runRecorder, exchanges);
  }
  return exchanges;
}

/** Whether a client has exchanges whose response has arrived and is not being read. */
export const hasUnreadExchanges = (runRecorder: Recorder): boolean =>
  (unreadByRecorder.get(runRecorder)?.size ?? 0) > 0;

/** Ends the runs of exchanges whose response has arrived and is not being read. */
export function endUnreadExchanges(runRecorder: Recorder): void {
  for (const exchange of unreadByRecorder.get(runRecorder) ?? []) {
    exchange.endUnread();
  }
}

/** Records a call of a remote API as a run. Never throws. */
export function recordExchange(client: TracingClient, options: ExchangeOptions): ExchangeRun {
  try {
    return new ExchangeRun(client, options);
  } catch {
    // The options can't be read, or the program called this when its stack was exhausted.
    localUncountedLosses.records += 1;
    return noopExchange;
  }
}

/** Takes the place of an exchange that could not be created. It is not recorded. */
export const noopExchange: ExchangeRun = new ExchangeRun(noopClient, { format: "openai.chat" });
