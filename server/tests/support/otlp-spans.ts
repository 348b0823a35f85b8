import { decodeSpans } from "../../src/otlp/decode.ts";
import { mapSpan, toJson } from "millrace/spans";
import {
  anyValueType,
  arrayValueType,
  keyValueListType,
  traceRequestType,
} from "../../src/otlp/proto-types.ts";
import type { MessageType } from "../../src/otlp/proto-types.ts";
import type { Span } from "millrace/spans";

/** Not a UUID of any version: a trace id is any 16 bytes. */
export const traceId = "5b8efff798038103d269b633813fc60c";
export const traceUuid = "5b8efff7-9803-8103-d269-b633813fc60c";

/** 2026-11-21T10:11:12.345678Z and 901 nanoseconds. */
export const someNanos = 1_795_255_872_345_678_901n;

/** The run id of a span of {@link traceId} that is not its root. */
export const spanUuid = (spanId: string): string =>
  `89e749c4-193c-470f-${spanId.slice(0, 4)}-${spanId.slice(4)}`;

/** The span id of a small number. */
export const spanIdOf = (number: number): string => number.toString(16).padStart(16, "0");

/** The value of an attribute in OTLP/JSON. */
function anyValue(value: unknown): unknown {
  if (Array.isArray(value)) {
    return { arrayValue: { values: value.map(anyValue) } };
  }
  switch (typeof value) {
    case "string":
      return { stringValue: value };
    case "boolean":
      return { boolValue: value };
    case "bigint":
      return { intValue: String(value) };
    case "number":
      return Number.isSafeInteger(value) ? { intValue: value } : { doubleValue: value };
    default:
      return { kvlistValue: { values: keyValues(value ?? {}) } };
  }
}

const keyValues = (values: object): readonly unknown[] =>
  Object.entries(values).map(([key, value]) => ({ key, value: anyValue(value) }));

export interface EventInit {
  readonly name: string;
  readonly attributes?: object;
}

export interface SpanInit {
  readonly id?: number;
  readonly parent?: number;
  readonly attributes?: object;
  readonly events?: readonly EventInit[];
  /** Members that override the defaults. */
  readonly rest?: object;
}

/** A span in OTLP/JSON. Spans with higher ids start later. */
export function otlpSpan({ id = 1, parent, attributes = {}, events = [], rest }: SpanInit = {}) {
  const start = someNanos + BigInt(id) * 1_000_000n;
  return {
    traceId,
    spanId: spanIdOf(id),
    ...(parent === undefined ? {} : { parentSpanId: spanIdOf(parent) }),
    name: `span ${id}`,
    kind: 1,
    startTimeUnixNano: String(start),
    endTimeUnixNano: String(start + 500_000_000n),
    attributes: keyValues(attributes),
    events: events.map((event) => ({
      name: event.name,
      timeUnixNano: String(start),
      attributes: keyValues(event.attributes ?? {}),
    })),
    ...rest,
  };
}

export const otlpRequest = (spans: readonly unknown[], resource: object = {}) => ({
  resourceSpans: [
    {
      resource: { attributes: keyValues(resource) },
      scopeSpans: [{ scope: { name: "a scope", version: "1.2.3" }, spans }],
    },
  ],
});

/** Spans as the server decodes them. */
export const readSpans = (spans: readonly unknown[], resource?: object): readonly Span[] =>
  decodeSpans(Buffer.from(JSON.stringify(otlpRequest(spans, resource))), "json").spans;

/** The members of the run that a span becomes. */
export function mapped(
  init: SpanInit,
  { project, resource }: { project?: string; resource?: object } = {},
): Readonly<Record<string, unknown>> {
  const [span] = readSpans([otlpSpan(init)], resource);
  if (span === undefined) {
    throw new Error("the span could not be read");
  }
  return JSON.parse(toJson(mapSpan(span, project).members)) as Readonly<Record<string, unknown>>;
}

type Fields = Readonly<Record<string, unknown>>;

const encode = (type: MessageType, message: Fields): Buffer =>
  Buffer.from(type.encode(type.fromObject(message)).finish());

const readList = (message: unknown, name: string): readonly Fields[] =>
  ((message as Fields | undefined)?.[name] ?? []) as readonly Fields[];

/** The value of an attribute in protobuf, from one in OTLP/JSON. */
function encodeValue(value: Fields): Buffer {
  const { arrayValue, kvlistValue, ...scalar } = value;
  return encode(anyValueType, {
    ...scalar,
    ...(arrayValue !== undefined && {
      arrayValue: encode(arrayValueType, {
        values: readList(arrayValue, "values").map(encodeValue),
      }),
    }),
    ...(kvlistValue !== undefined && {
      kvlistValue: encode(keyValueListType, { values: encodeEntries(kvlistValue, "values") }),
    }),
  });
}

const encodeEntries = (message: unknown, name: string): readonly Fields[] =>
  readList(message, name).map(({ key, value }) => ({ key, value: encodeValue(value as Fields) }));

/** The body of a request in protobuf, from spans in OTLP/JSON. */
export function encodeSpans(...spans: readonly Fields[]): Buffer {
  const toBytes = (id: unknown): Buffer => Buffer.from(typeof id === "string" ? id : "", "hex");
  const encoded = spans.map((span) => ({
    ...span,
    traceId: toBytes(span["traceId"]),
    spanId: toBytes(span["spanId"]),
    parentSpanId: toBytes(span["parentSpanId"]),
    attributes: encodeEntries(span, "attributes"),
    events: readList(span, "events").map((event) => ({
      ...event,
      attributes: encodeEntries(event, "attributes"),
    })),
  }));
  return encode(traceRequestType, { resourceSpans: [{ scopeSpans: [{ spans: encoded }] }] });
}
