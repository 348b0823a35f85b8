import type { ExchangeFields, RawExchange } from "../../../model/records/exchange.ts";
import { decodeBody, isEventStream, parseJson, readEvents, toRawPayload } from "./body.ts";
import type { BodyText } from "./body.ts";
import { isJsonObject, toText } from "./json-object.ts";
import type { JsonObject } from "./json-object.ts";
import {
  describeError,
  describeRefusal,
  findProviderError,
  toErrorOutputs,
  toPageTitle,
} from "./provider-error.ts";
import { toModelMetadata } from "./model-metadata.ts";
import type { ModelKind } from "./model-metadata.ts";
import type { UsageMetadata } from "./usage.ts";
import { toExcerpt, Warnings } from "./warnings.ts";

/** The JSON of one event of a stream. */
export interface StreamedValue {
  /** The event's type; empty if the event has none. */
  readonly type: string;
  readonly value: JsonObject;
}

/** The response that the events of a stream form together. */
export interface JoinedStream {
  /**
   * The response that a request without streaming would have received; `undefined` if no event contains a part of it.
   */
  readonly response: JsonObject | undefined;
  /** An error inside the stream. */
  readonly error?: string;
  /** Whether the provider reported that the response is complete. */
  readonly isFinished: boolean;
}

/** How the responses of one format are read. */
export interface ResponseReader {
  readonly model: ModelKind;
  readonly joinEvents: (events: readonly StreamedValue[], warnings: Warnings) => JoinedStream;
  readonly readUsage: (response: JsonObject, warnings: Warnings) => UsageMetadata | undefined;
  /** Replaces content that is not recorded as text, such as images. */
  readonly compact?: (response: JsonObject) => JsonObject;
  /**
   * Reads a response whose body is neither an object nor a stream of events; returns `undefined` if it can't read the
   * body.
   */
  readonly readOther?: (
    body: { readonly value: unknown } | { readonly text: string },
    warnings: Warnings,
  ) => JoinedStream | undefined;
  /** Returns the error that a complete response reports in a way that only this format has. */
  readonly findError?: (response: JsonObject) => string | undefined;
}

/** Reads the response of a provider: as JSON, or as a stream of events that are joined into the same JSON. */
export function readResponse(exchange: RawExchange, format: ResponseReader): ExchangeFields {
  const warnings = new Warnings();
  return warnings.addTo(readFields({ exchange, format, warnings }));
}

/** What the functions below need to read one response. */
interface Reading {
  readonly exchange: RawExchange;
  readonly format: ResponseReader;
  readonly warnings: Warnings;
}

function readFields(reading: Reading): ExchangeFields {
  const { exchange, format, warnings } = reading;
  const bodyText = decodeBody(exchange, warnings);
  const { status = 200, ending = "complete" } = exchange;
  if (isEventStream(exchange, bodyText) && status < 400) {
    return readStream(reading, bodyText);
  }
  const wholeText = bodyText.head + (bodyText.tail ?? "");
  const parsed =
    bodyText.tail === undefined ? parseJson(bodyText.head) : { fault: "its middle is missing" };
  if (status >= 400) {
    return {
      error: describeRefusal(status, parsed.value, wholeText),
      ...withOutputs(toErrorOutputs(parsed.value) ?? toRawPayload(bodyText)),
      isComplete: true,
    };
  }
  if (isJsonObject(parsed.value)) {
    return finish(reading, { response: parsed.value, isFinished: true });
  }
  const otherStream = format.readOther?.(
    parsed.fault === undefined ? { value: parsed.value } : { text: wholeText },
    warnings,
  );
  if (otherStream !== undefined) {
    return finish(reading, otherStream);
  }
  if (wholeText.trim() === "") {
    if (ending === "complete") {
      warnings.add("The response has no content.");
    }
    return {};
  }
  const outputs = withOutputs(toRawPayload(bodyText));
  if (parsed.fault === undefined) {
    const error = findProviderError(parsed.value);
    warnings.add("The response is JSON, but not an object.");
    return { ...outputs, ...(error === undefined ? {} : { error }) };
  }
  if (ending !== "complete" || bodyText.tail !== undefined) {
    warnings.add(`The response could not be parsed: ${parsed.fault}.`);
    return outputs;
  }
  return { ...outputs, error: describeUnreadable(exchange, wholeText, parsed.fault) };
}

function readStream(reading: Reading, text: BodyText): ExchangeFields {
  const { exchange, format, warnings } = reading;
  const { ending = "complete", omittedBytes } = exchange;
  const values: StreamedValue[] = [];
  let error: string | undefined;
  let isDone = false;
  for (const event of readEvents(exchange, text, warnings)) {
    if (event.data.startsWith("[DONE]")) {
      isDone = true;
      break;
    }
    const parsed = parseJson(event.data);
    if (isJsonObject(parsed.value)) {
      error ??= readEventError(event.type, parsed.value);
      values.push({ type: event.type, value: parsed.value });
    } else if (event.type === "error") {
      error ??= toExcerpt(event.data);
    } else if (event.data !== "") {
      warnings.add(`An event of the response is not an object: ${toExcerpt(event.data)}`);
    }
  }
  const joinedStream = format.joinEvents(values, warnings);
  error ??= joinedStream.error;
  const isFinished = isDone || joinedStream.isFinished;
  if (!isFinished && error === undefined && ending === "complete" && omittedBytes === 0) {
    warnings.add("The response ended before the provider reported that it is complete.");
  }
  if (joinedStream.response === undefined && error === undefined) {
    return { ...withOutputs(toRawPayload(text)), isComplete: isFinished };
  }
  return finish(reading, {
    ...joinedStream,
    isFinished,
    ...(error === undefined ? {} : { error }),
  });
}

/** Returns the error in an event. All providers send such an event if they fail after the response has begun. */
function readEventError(type: string, value: JsonObject): string | undefined {
  const isError = type === "error" || value["type"] === "error";
  return findProviderError(value) ?? (isError ? describeError(value) : undefined);
}

function finish(
  { exchange, format, warnings }: Reading,
  { response, error, isFinished }: JoinedStream,
): ExchangeFields {
  if (response === undefined) {
    return { ...(error === undefined ? {} : { error }), isComplete: isFinished };
  }
  const errorText = error ?? format.findError?.(response) ?? findProviderError(response);
  const usage = format.readUsage(response, warnings);
  const model = toText(response["model"]) ?? toText(response["modelVersion"]);
  const compactResponse = format.compact?.(response) ?? response;
  return {
    outputs: usage === undefined ? compactResponse : { ...compactResponse, usage_metadata: usage },
    // The model that answered: the request may name an alias of it, or a deployment.
    metadata: toModelMetadata(exchange, format.model, { model }),
    ...(errorText === undefined ? {} : { error: errorText }),
    isComplete: isFinished,
  };
}

const withOutputs = (outputs: JsonObject | undefined): ExchangeFields =>
  outputs === undefined ? {} : { outputs };

/** Describes a successful response that is not JSON, such as the page of a proxy. */
function describeUnreadable(
  { status = 200, contentType }: RawExchange,
  text: string,
  fault: string,
): string {
  const isHtml = /^\s*<(?:!doctype|html)/i.test(text) || /\bhtml\b/i.test(contentType ?? "");
  const content = isHtml ? `an HTML page, "${toPageTitle(text) ?? toExcerpt(text)}"` : fault;
  return isHtml
    ? `The response with status ${status} is not JSON, but ${content}`
    : `The response with status ${status} is not valid JSON: ${content}`;
}
