import { isUtf8 } from "node:buffer";
import { SpanWarnings } from "millrace/spans";
import type {
  Attributes,
  DecodedSpans,
  Span,
  SpanEvent,
  SpanError,
  SpanLink,
} from "millrace/spans";
import { messageOf, RequestError } from "../model/errors.ts";
import { JsonCursor } from "../bodies/json-cursor.ts";
import { serverLimits } from "../model/options.ts";
import { traceRequestType } from "./proto-types.ts";
import {
  readAttributes,
  readHexId,
  readItems,
  readMember,
  readEnumOrNumber,
  readText,
  readNanos,
  ValueFault,
} from "./wire-values.ts";
import type { Warn } from "./wire-values.ts";

/** Encoding of a request body. The response has the same encoding. */
export type Encoding = "json" | "protobuf";

/** The data that a span has in common with the other spans of its resource and scope. */
interface SpanGroup {
  readonly resource: Attributes;
  readonly scopeName: string;
  readonly scopeVersion: string;
  /** Describes what could not be decoded in the resource. */
  readonly warnings: readonly string[];
}

/**
 * Decodes the spans of a request. A malformed span does not affect the others.
 *
 * @throws RequestError 400: the body can't be decoded; 413: it contains too many spans.
 */
export function decodeSpans(body: Buffer, encoding: Encoding): DecodedSpans {
  const request = encoding === "json" ? parseJson(body) : parseProtobuf(body);
  const spans: Span[] = [];
  const spanErrors: SpanError[] = [];
  for (const resourceGroup of readItems(request, "resourceSpans")) {
    const resourceWarnings = new SpanWarnings();
    const resource = readAttributes(readMember(resourceGroup, "resource"), (text) =>
      resourceWarnings.add(`resource: ${text}`),
    );
    for (const scopeGroup of readItems(resourceGroup, "scopeSpans")) {
      const scope = readMember(scopeGroup, "scope");
      const scopeName = readText(scope, "name");
      const scopeVersion = readText(scope, "version");
      const group = { resource, scopeName, scopeVersion, warnings: resourceWarnings.list() };
      const encodedSpans = readItems(scopeGroup, "spans");
      // Check the count before reading the spans: a small body may contain millions of empty spans.
      checkCount(spans.length + spanErrors.length + encodedSpans.length);
      for (const encodedSpan of encodedSpans) {
        const span = catchFault(() => toSpan(encodedSpan, group));
        if (span instanceof ValueFault) {
          spanErrors.push({ reason: span.message });
        } else {
          spans.push(span);
        }
      }
    }
  }
  return { spans, spanErrors };
}

function catchFault<Value>(read: () => Value): Value | ValueFault {
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
      `${count} spans in one request; at most ${serverLimits.operationsMax} are allowed: send fewer per request`,
    );
  }
}

function parseProtobuf(body: Buffer): unknown {
  try {
    return traceRequestType.decode(body);
  } catch (cause) {
    throw new RequestError(400, `the body is not a protobuf trace request: ${messageOf(cause)}`);
  }
}

function parseJson(body: Buffer): unknown {
  if (!isUtf8(body)) {
    throw new RequestError(400, "the body is not UTF-8: send JSON in UTF-8");
  }
  try {
    // Limit the nesting, because later functions are recursive.
    new JsonCursor(body, serverLimits.bodyDepth).assertOneValue();
    const request: unknown = JSON.parse(quoteLargeIntegers(body.toString("utf8")));
    if (typeof request !== "object" || request === null || Array.isArray(request)) {
      throw new Error("expected an object");
    }
    return request;
  } catch (cause) {
    throw new RequestError(400, `the body is not a JSON trace request: ${messageOf(cause)}`);
  }
}

/**
 * Quotes 64-bit integers that were sent as numbers, because JavaScript would round them to 53 bits. The pattern can't
 * match within a JSON string, because there a backslash precedes each quote.
 */
const quoteLargeIntegers = (json: string): string =>
  json.replaceAll(
    /"(intValue|int_value|\w*UnixNano|\w*unix_nano)"\s*:\s*(-?\d{16,20})(?=[\s,}])/g,
    '"$1":"$2"',
  );

const kindNames = ["", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];
const kindConstants = kindNames.map((name) => `SPAN_KIND_${name === "" ? "UNSPECIFIED" : name}`);
const statusConstants = ["STATUS_CODE_UNSET", "STATUS_CODE_OK", "STATUS_CODE_ERROR"];
const [okCode, errorCode] = [1, 2];

/** Bits of `flags` that are both set if the exporter has determined that the parent is in another process. */
const remoteParentBits = 0x300;

function toSpan(encoded: unknown, group: SpanGroup): Span {
  const spanId = readHexId(encoded, "spanId", 8);
  const traceId = readHexId(encoded, "traceId", 16);
  if (spanId === "" || traceId === "") {
    throw new ValueFault(`${spanId === "" ? "spanId" : "traceId"} is missing or zero`);
  }
  const parentSpanId = readHexId(encoded, "parentSpanId", 8);
  const status = readMember(encoded, "status");
  const statusCode = readEnumOrNumber(status, "code", statusConstants);
  const warnings = new SpanWarnings(group.warnings);
  const warn: Warn = (text) => warnings.add(text);
  const span: Omit<Span, "warnings"> = {
    ...group,
    traceId,
    spanId,
    parentSpanId: parentSpanId === spanId ? "" : parentSpanId,
    name: readText(encoded, "name"),
    kind: kindNames[readEnumOrNumber(encoded, "kind", kindConstants)] ?? "",
    startNanos: readNanos(encoded, "startTimeUnixNano", warn),
    endNanos: readNanos(encoded, "endTimeUnixNano", warn),
    hasRemoteParent: (readEnumOrNumber(encoded, "flags") & remoteParentBits) === remoteParentBits,
    traceState: readText(encoded, "traceState"),
    attributes: readAttributes(encoded, warn),
    events: readItems(encoded, "events").map((event) => toEvent(event, warn)),
    links: readItems(encoded, "links").flatMap((link) => toLinks(link, warn)),
    isError: statusCode === errorCode,
    isOk: statusCode === okCode,
    statusMessage: readText(status, "message"),
  };
  return { ...span, warnings: warnings.list() };
}

function toEvent(encoded: unknown, warn: Warn): SpanEvent {
  const name = readText(encoded, "name");
  const warnOfEvent: Warn = (text) => warn(`event ${name}: ${text}`);
  return {
    name,
    nanos: readNanos(encoded, "timeUnixNano", warnOfEvent),
    attributes: readAttributes(encoded, warnOfEvent),
  };
}

/** Returns a list of one link, or an empty list if its ids are malformed. The span is stored without such a link. */
function toLinks(encoded: unknown, warn: Warn): readonly SpanLink[] {
  const ids = catchFault(() => ({
    traceId: readHexId(encoded, "traceId", 16),
    spanId: readHexId(encoded, "spanId", 8),
  }));
  if (ids instanceof ValueFault) {
    warn(`a link is left out: ${ids.message}`);
    return [];
  }
  return [{ ...ids, attributes: readAttributes(encoded, (text) => warn(`link: ${text}`)) }];
}
