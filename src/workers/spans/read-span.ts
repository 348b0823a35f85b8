import type { ExchangeFields, RawExchange } from "../../model/records/exchange.ts";
import { JsonText } from "./json-text.ts";
import { mapSpan } from "./map-span.ts";
import type { AttributeObject, AttributeValue, Attributes, Span } from "./span.ts";

type Members = Readonly<Record<string, unknown>>;

/**
 * Reads the fields of a run from a span of OpenTelemetry's SDK. They are the same as if the server had received the
 * span in an encoding of OTLP. The position in the trace is not read from the span, because the record has it.
 *
 * @throws TypeError if the value is not a span.
 */
export function readSpan({ value }: RawExchange): ExchangeFields {
  const { members } = mapSpan(toSpan(value), undefined);
  const { name, run_type: runType, inputs, outputs, error, tags, events, extra } = members;
  const { metadata, ...otherExtra } = toPlainObject(extra);
  return {
    name: String(name),
    runType: String(runType),
    inputs: toPlainObject(inputs),
    ...(outputs === undefined ? {} : { outputs: toPlainObject(outputs) }),
    ...(typeof error === "string" ? { error } : {}),
    ...(Array.isArray(tags) ? { tags: tags.map(String) } : {}),
    ...(Array.isArray(events) ? { events: events.map(toPlainObject) } : {}),
    metadata: toPlainObject(metadata),
    ...(Object.keys(otherExtra).length === 0 ? {} : { extra: otherExtra }),
  };
}

/** `SpanKind` of OpenTelemetry's API. */
const kindNames = ["INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];
/** `SpanStatusCode.OK` and `SpanStatusCode.ERROR` of OpenTelemetry's API. */
const [okCode, errorCode] = [1, 2];

function toSpan(value: unknown): Span {
  if (!isObject(value)) {
    throw new TypeError("the value is not a span");
  }
  const { status, scope, events, links, kind } = value;
  const { code, message } = toObject(status);
  const { name: scopeName, version: scopeVersion } = toObject(scope);
  return {
    traceId: toText(value["traceId"]),
    spanId: toText(value["spanId"]),
    parentSpanId: toText(value["parentSpanId"]),
    name: toText(value["name"]),
    kind: (typeof kind === "number" ? kindNames[kind] : undefined) ?? "",
    startNanos: toNanos(value["startTime"]),
    endNanos: toNanos(value["endTime"]),
    hasRemoteParent: false,
    traceState: toText(value["traceState"]),
    attributes: toAttributes(value["attributes"]),
    events: toList(events).map((event) => {
      const { name, time, attributes } = toObject(event);
      return {
        name: toText(name),
        nanos: toNanos(time),
        attributes: toAttributes(attributes),
      };
    }),
    links: toList(links).map((link) => {
      const { traceId, spanId, attributes } = toObject(link);
      return {
        traceId: toText(traceId),
        spanId: toText(spanId),
        attributes: toAttributes(attributes),
      };
    }),
    isError: code === errorCode,
    isOk: code === okCode,
    statusMessage: toText(message),
    resource: toAttributes(value["resource"]),
    scopeName: toText(scopeName),
    scopeVersion: toText(scopeVersion),
    warnings: [],
  };
}

/** Converts a time of the SDK: a list of seconds since the Unix epoch, and nanoseconds. */
function toNanos(time: unknown): bigint {
  const [seconds, nanos] = toList(time);
  return Number.isSafeInteger(seconds) && Number.isSafeInteger(nanos)
    ? BigInt(seconds as number) * 1_000_000_000n + BigInt(nanos as number)
    : 0n;
}

const toAttributes = (value: unknown): Attributes =>
  new Map(Object.entries(toObject(value)).map(([name, item]) => [name, toAttributeValue(item)]));

function toAttributeValue(value: unknown): AttributeValue {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
    return value;
  }
  if (value instanceof Uint8Array) {
    return Buffer.from(value).toString("base64");
  }
  if (Array.isArray(value)) {
    return value.map(toAttributeValue);
  }
  if (!isObject(value)) {
    return null;
  }
  const members = Object.entries(value).map(
    ([name, item]) => [name, toAttributeValue(item)] as const,
  );
  return Object.assign(Object.create(null) as AttributeObject, Object.fromEntries(members));
}

/** Converts a value of a run to one that a tape can hold. JSON texts are parsed, and large integers become texts. */
function toPlain(value: unknown): unknown {
  if (value instanceof JsonText) {
    return JSON.parse(value.text);
  }
  if (typeof value === "bigint") {
    return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  }
  if (Array.isArray(value)) {
    return value.map(toPlain);
  }
  return isObject(value) ? toPlainObject(value) : value;
}

const toPlainObject = (value: unknown): Members =>
  Object.fromEntries(
    Object.entries(toObject(value)).map(([name, item]) => [name, toPlain(item)] as const),
  );

const toText = (value: unknown): string => (typeof value === "string" ? value : "");

const toList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const toObject = (value: unknown): Members => (isObject(value) ? value : {});

const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);
