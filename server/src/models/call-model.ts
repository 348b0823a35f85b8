import { AnswerBuilder, AnswerLimitError } from "./answer-builder.ts";
import { EventStreamError, EventStreamParser } from "./event-stream.ts";
import type { StreamEvent } from "./event-stream.ts";
import { isJsonObject, parseObject, toObject, toText } from "./json-value.ts";
import type { ModelAnswer, ModelDelta, ModelFailure, ModelFailureKind } from "./model-answer.ts";
import type { ModelEndpoint } from "../model/model-endpoint.ts";
import type { ModelRequest } from "./model-request.ts";
import type { ModelHttpResponse, ModelTransport } from "./model-transport.ts";
import { protocols } from "./protocols/protocols.ts";
import { SecretMask } from "./secret-mask.ts";

/** Limits of one call. The names contain the unit of a limit that is not a plain number. */
export const modelCallLimits = {
  /** Time limit of the whole call. */
  callMs: 600_000,
  /** Bytes of the whole response, as the endpoint sends it. */
  responseBytes: 64 * 1_048_576,
  events: 1_000_000,
  eventChars: 16 * 1_048_576,
  /** Characters of all texts of the answer. */
  answerChars: 8 * 1_048_576,
  /** Bytes that are read of the response to a refused request, and characters that are shown of its message. */
  errorBytes: 65_536,
  errorChars: 2_000,
} as const;

export interface ModelCall {
  readonly endpoint: ModelEndpoint;
  /** The key to send; the endpoint's own key if it is absent. */
  readonly key?: string | undefined;
  readonly request: ModelRequest;
  readonly tenantId: string;
  readonly transport: ModelTransport;
  /** Called for each part of the answer, in the order of their arrival. */
  readonly onDelta?: (delta: ModelDelta) => void;
  /** Cancels the call. */
  readonly signal?: AbortSignal;
  /** Returns the current time in milliseconds, of a clock that never goes back. */
  readonly now?: () => number;
}

/**
 * Calls a model and reads its answer as it arrives. Never rejects because of the endpoint: the member `failure` of the
 * result describes what went wrong, and the other members contain what had arrived before. Neither the result nor the
 * parts that are passed on contain the key.
 */
export async function callModel(call: ModelCall): Promise<ModelAnswer> {
  const { endpoint, request, transport, onDelta, tenantId, now = () => performance.now() } = call;
  const key = call.key ?? endpoint.apiKey;
  const protocol = protocols[endpoint.protocol];
  const mask = new SecretMask(key);
  const startMs = now();
  let firstTokenMs: number | undefined;
  const answer = new AnswerBuilder({
    mask,
    maxChars: modelCallLimits.answerChars,
    onDelta: (delta) => {
      firstTokenMs ??= now() - startMs;
      onDelta?.(delta);
    },
  });
  const deadline = AbortSignal.timeout(modelCallLimits.callMs);
  const signal = call.signal === undefined ? deadline : AbortSignal.any([call.signal, deadline]);
  let failure: ModelFailure | undefined;
  try {
    signal.throwIfAborted();
    const response = await transport.send({
      url: endpoint.url,
      headers: {
        ...protocol.createHeaders(key),
        "content-type": "application/json",
        accept: "text/event-stream, application/json",
      },
      body: JSON.stringify(protocol.createBody(request, new URL(endpoint.url).hostname)),
      tenantId,
      signal,
    });
    failure =
      response.status === 200
        ? await readAnswer(response, { answer, request, protocol })
        : await readRefusal(response);
  } catch (cause) {
    failure = describeFailure(cause, { signal: call.signal, deadline });
  }
  answer.end();
  failure ??= findIncompleteness(answer);
  return {
    text: answer.text,
    thinking: answer.thinking,
    toolCalls: answer.toolCalls,
    ...(answer.finishReason === undefined ? {} : { finishReason: answer.finishReason }),
    ...(answer.model === undefined ? {} : { model: mask.mask(answer.model) }),
    ...(answer.usage === undefined ? {} : { usage: answer.usage }),
    ...(firstTokenMs === undefined ? {} : { firstTokenMs }),
    durationMs: now() - startMs,
    ...(failure === undefined
      ? {}
      : { failure: { ...failure, message: shorten(mask.mask(failure.message)) } }),
  };
}

interface AnswerReading {
  readonly answer: AnswerBuilder;
  readonly request: ModelRequest;
  readonly protocol: (typeof protocols)[keyof typeof protocols];
}

async function readAnswer(
  { contentType, chunks }: ModelHttpResponse,
  reading: AnswerReading,
): Promise<ModelFailure | undefined> {
  if (contentType === "application/json") {
    return readWholeAnswer(chunks, reading);
  }
  if (contentType !== "text/event-stream") {
    const name = contentType === "" ? "no content type" : `the content type ${contentType}`;
    return createFailure(
      "malformed",
      `The endpoint answered with ${name} instead of text/event-stream or application/json. Check the address of the endpoint.`,
    );
  }
  const parser = new EventStreamParser(modelCallLimits.eventChars);
  const bytes = limitBytes(chunks, modelCallLimits.responseBytes);
  let eventCount = 0;
  for await (const chunk of bytes) {
    const events = parser.push(chunk);
    eventCount += events.length;
    if (eventCount > modelCallLimits.events) {
      throw new AnswerLimitError(
        `the stream has more than ${modelCallLimits.events.toLocaleString("en")} events`,
      );
    }
    if (readEvents(events, reading) === "end") {
      return undefined;
    }
  }
  readEvents(parser.end(), reading);
  return undefined;
}

/** The last event of a stream of OpenAI's API. */
const lastEvent = "[DONE]";

function readEvents(
  events: readonly StreamEvent[],
  { answer, request, protocol }: AnswerReading,
): "end" | "open" {
  for (const { data } of events) {
    if (data === lastEvent) {
      return "end";
    }
    const event = parseObject(data);
    if (event === undefined) {
      throw new EventStreamError("an event of the stream is not a JSON object");
    }
    protocol.readEvent(event, answer, request);
  }
  return "open";
}

/** Reads the answer of an endpoint that does not stream. */
async function readWholeAnswer(
  chunks: AsyncIterable<Uint8Array>,
  { answer, request, protocol }: AnswerReading,
): Promise<ModelFailure | undefined> {
  const parts: Uint8Array[] = [];
  for await (const chunk of limitBytes(chunks, modelCallLimits.eventChars)) {
    parts.push(chunk);
  }
  const response = parseObject(Buffer.concat(parts).toString("utf8"));
  if (response === undefined) {
    return createFailure("malformed", "The endpoint answered with JSON that is not an object.");
  }
  protocol.readResponse(response, answer, request);
  return undefined;
}

async function* limitBytes(
  chunks: AsyncIterable<Uint8Array>,
  bytesMax: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > bytesMax) {
      throw new AnswerLimitError(
        `the response has more than ${bytesMax.toLocaleString("en")} bytes`,
      );
    }
    yield chunk;
  }
}

/** Reads why the endpoint refused the request. */
async function readRefusal(response: ModelHttpResponse): Promise<ModelFailure> {
  const { status, retryAfterSeconds } = response;
  const text = await readBeginning(response.chunks, modelCallLimits.errorBytes);
  const body = parseObject(text);
  const error = body?.["error"] ?? body?.["detail"] ?? body?.["message"];
  const message = isJsonObject(error) ? toText(error["message"]) : toText(error);
  const detail = message ?? (body === undefined ? text.trim() : JSON.stringify(body));
  return {
    kind: toFailureKind(status),
    status,
    message: detail === "" ? `${status}` : `${status}: ${detail}`,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
}

function toFailureKind(status: number): ModelFailureKind {
  if (status === 401 || status === 403) {
    return "unauthorized";
  }
  if (status === 429 || status === 529) {
    return "rateLimited";
  }
  if (status >= 500) {
    return "failed";
  }
  return status >= 400 ? "refused" : "malformed";
}

async function readBeginning(chunks: AsyncIterable<Uint8Array>, bytesMax: number): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    parts.push(chunk);
    bytes += chunk.length;
    if (bytes >= bytesMax) {
      break;
    }
  }
  return Buffer.concat(parts).subarray(0, bytesMax).toString("utf8");
}

const createFailure = (kind: ModelFailureKind, message: string): ModelFailure => ({
  kind,
  message,
});

/**
 * Returns why an answer is incomplete although the connection ended without an error; `undefined` if it is complete.
 */
function findIncompleteness(answer: AnswerBuilder): ModelFailure | undefined {
  if (answer.error !== undefined) {
    return createFailure("failed", `The endpoint reports an error: ${answer.error}`);
  }
  return answer.isFinished
    ? undefined
    : createFailure("malformed", "The endpoint ended the response before the answer was complete.");
}

function describeFailure(
  cause: unknown,
  {
    signal,
    deadline,
  }: { readonly signal: AbortSignal | undefined; readonly deadline: AbortSignal },
): ModelFailure {
  if (signal?.aborted === true) {
    return createFailure("canceled", "The call was canceled.");
  }
  if (deadline.aborted) {
    return createFailure(
      "limit",
      `The call took longer than ${modelCallLimits.callMs / 60_000} minutes.`,
    );
  }
  const message = toText(toObject(cause)["message"]) ?? String(cause);
  if (cause instanceof AnswerLimitError || (cause instanceof EventStreamError && cause.isLimit)) {
    return createFailure("limit", `The call was stopped, because ${message}.`);
  }
  if (cause instanceof EventStreamError) {
    return createFailure("malformed", `The response can't be read, because ${message}.`);
  }
  return createFailure("unreachable", message);
}

const shorten = (text: string): string =>
  text.length > modelCallLimits.errorChars ? `${text.slice(0, modelCallLimits.errorChars)}…` : text;
