import { isUtf8 } from "node:buffer";
import { messageOf, RequestError } from "../model/errors.ts";
import { JsonCursor } from "../bodies/json-cursor.ts";
import { serverLimits } from "../model/options.ts";
import { traceRequest } from "./proto-types.ts";
import type { Attributes, DecodedSpans, Span, SpanEvent, SpanFault, SpanLink } from "./span.ts";
import {
  attributes,
  hexId,
  items,
  member,
  small,
  text,
  unsigned,
  ValueFault,
} from "./wire-values.ts";

/** How a body is written; the answer is written the same way. */
export type Encoding = "json" | "protobuf";

/** What a span has from what surrounds it. */
interface Source {
  readonly resource: Attributes;
  readonly scopeName: string;
  readonly scopeVersion: string;
}

/**
 * The spans of a request. One that can't be read costs no other.
 *
 * @throws RequestError 400: the body can't be decoded; 413: it holds too many spans.
 */
export function decodeSpans(body: Buffer, encoding: Encoding): DecodedSpans {
  const request = encoding === "json" ? parseJson(body) : parseProtobuf(body);
  const spans: Span[] = [];
  const faults: SpanFault[] = [];
  for (const group of items(request, "resourceSpans")) {
    const resource = attempt(() => attributes(member(group, "resource")));
    for (const scoped of items(group, "scopeSpans")) {
      const scope = member(scoped, "scope");
      const scopeName = text(scope, "name");
      const scopeVersion = text(scope, "version");
      const received = items(scoped, "spans");
      // Before they are read: a small body may hold millions of empty ones.
      checkCount(spans.length + faults.length + received.length);
      for (const one of received) {
        const span =
          resource instanceof ValueFault
            ? resource
            : attempt(() => toSpan(one, { resource, scopeName, scopeVersion }));
        if (span instanceof ValueFault) {
          faults.push({ reason: span.message });
        } else {
          spans.push(span);
        }
      }
    }
  }
  return { spans, faults };
}

function attempt<Value>(read: () => Value): Value | ValueFault {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof ValueFault) {
      return cause;
    }
    throw cause;
  }
}

function checkCount(count: number): void {
  if (count > serverLimits.operationsMax) {
    throw new RequestError(
      413,
      `${count} spans in one request; at most ${serverLimits.operationsMax}: send fewer in one`,
    );
  }
}

function parseProtobuf(body: Buffer): unknown {
  try {
    return traceRequest.decode(body);
  } catch (cause) {
    throw new RequestError(400, `the body is no protobuf of spans: ${messageOf(cause)}`);
  }
}

function parseJson(body: Buffer): unknown {
  if (!isUtf8(body)) {
    throw new RequestError(400, "the body is not UTF-8: send JSON in UTF-8");
  }
  try {
    // What walks over values later calls itself at each level.
    new JsonCursor(body, serverLimits.bodyDepth).readWhole();
    const request: unknown = JSON.parse(quoteLargeIntegers(body.toString("utf8")));
    if (typeof request !== "object" || request === null || Array.isArray(request)) {
      throw new Error("expected an object");
    }
    return request;
  } catch (cause) {
    throw new RequestError(400, `the body is no JSON of spans: ${messageOf(cause)}`);
  }
}

/**
 * 64-bit integers may come as numbers, of which JavaScript keeps 53 bits. Inside a text a quote has a
 * backslash before it, so that the pattern finds members only.
 */
const quoteLargeIntegers = (json: string): string =>
  json.replaceAll(
    /"(intValue|int_value|\w*UnixNano|\w*unix_nano)"\s*:\s*(-?\d{16,20})(?=[\s,}])/g,
    '"$1":"$2"',
  );

const kindNames = ["", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];
const kindWords = kindNames.map((name) => `SPAN_KIND_${name === "" ? "UNSPECIFIED" : name}`);
const statusWords = ["STATUS_CODE_UNSET", "STATUS_CODE_OK", "STATUS_CODE_ERROR"];
const errorCode = 2;

/** Bits of `flags`: whether the exporter knows where the parent is, and whether it is elsewhere. */
const remoteParentBits = 0x300;

function toSpan(received: unknown, source: Source): Span {
  const spanId = hexId(received, "spanId", 8);
  const traceId = hexId(received, "traceId", 16);
  if (spanId === "" || traceId === "") {
    throw new ValueFault(`${spanId === "" ? "spanId" : "traceId"} is missing or zero`);
  }
  const parentSpanId = hexId(received, "parentSpanId", 8);
  const status = member(received, "status");
  return {
    ...source,
    traceId,
    spanId,
    parentSpanId: parentSpanId === spanId ? "" : parentSpanId,
    name: text(received, "name"),
    kind: kindNames[small(received, "kind", kindWords)] ?? "",
    startNanos: unsigned(received, "startTimeUnixNano"),
    endNanos: unsigned(received, "endTimeUnixNano"),
    hasRemoteParent: (small(received, "flags") & remoteParentBits) === remoteParentBits,
    traceState: text(received, "traceState"),
    attributes: attributes(received),
    events: items(received, "events").map(toEvent),
    links: items(received, "links").map(toLink),
    isError: small(status, "code", statusWords) === errorCode,
    statusMessage: text(status, "message"),
  };
}

const toEvent = (received: unknown): SpanEvent => ({
  name: text(received, "name"),
  nanos: unsigned(received, "timeUnixNano"),
  attributes: attributes(received),
});

const toLink = (received: unknown): SpanLink => ({
  traceId: hexId(received, "traceId", 16),
  spanId: hexId(received, "spanId", 8),
  attributes: attributes(received),
});
