import { createServer } from "node:http";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import protobuf from "protobufjs";
import { onTestFinished } from "vitest";

/** The messages of opentelemetry-proto that a trace exporter sends and receives, as its repository defines them. */
const { root } = protobuf.parse(
  `
  syntax = "proto3";
  message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
  message ExportTraceServiceResponse { ExportTracePartialSuccess partial_success = 1; }
  message ExportTracePartialSuccess { int64 rejected_spans = 1; string error_message = 2; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; string schema_url = 3; }
  message Resource { repeated KeyValue attributes = 1; uint32 dropped_attributes_count = 2; }
  message ScopeSpans { InstrumentationScope scope = 1; repeated Span spans = 2; string schema_url = 3; }
  message InstrumentationScope { string name = 1; string version = 2; repeated KeyValue attributes = 3; }
  message Span {
    bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; fixed32 flags = 16;
    string name = 5; SpanKind kind = 6; fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
    repeated KeyValue attributes = 9; uint32 dropped_attributes_count = 10; repeated Event events = 11;
    repeated Link links = 13; Status status = 15;
  }
  enum SpanKind {
    SPAN_KIND_UNSPECIFIED = 0; SPAN_KIND_INTERNAL = 1; SPAN_KIND_SERVER = 2; SPAN_KIND_CLIENT = 3;
    SPAN_KIND_PRODUCER = 4; SPAN_KIND_CONSUMER = 5;
  }
  message Event { fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; }
  message Link { bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; repeated KeyValue attributes = 4; }
  message Status { string message = 2; StatusCode code = 3; }
  enum StatusCode { STATUS_CODE_UNSET = 0; STATUS_CODE_OK = 1; STATUS_CODE_ERROR = 2; }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message AnyValue {
    oneof value {
      string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4;
      ArrayValue array_value = 5; KeyValueList kvlist_value = 6; bytes bytes_value = 7;
    }
  }
  message ArrayValue { repeated AnyValue values = 1; }
  message KeyValueList { repeated KeyValue values = 1; }
  message RpcStatus { int32 code = 1; string message = 2; }
  `,
  new protobuf.Root(),
);
const [requestType, responseType, statusType] = [
  "ExportTraceServiceRequest",
  "ExportTraceServiceResponse",
  "RpcStatus",
].map((name) => root.lookupType(name)) as [protobuf.Type, protobuf.Type, protobuf.Type];

/** A span as the collector received it. Ids are hexadecimal digits. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root span. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: string;
  readonly startNanos: bigint;
  readonly endNanos: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly CollectedEvent[];
  readonly links: readonly Omit<CollectedEvent, "name" | "nanos">[];
  readonly status: { readonly code: string; readonly message: string };
  readonly resource: Readonly<Record<string, unknown>>;
  readonly scope: string;
}

export interface CollectedEvent {
  readonly name: string;
  readonly nanos: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** A request to the collector, and the spans in its body. */
export interface CollectedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly spans: readonly CollectedSpan[];
  /** Bytes of the body as it was sent. */
  readonly bytes: number;
}

/** Responds to a request. Returning `undefined` means that the spans are accepted. */
export type Respond = (
  response: ServerResponse,
  request: CollectedRequest,
) => "responded" | undefined;

export interface Collector {
  /** The address for the option `otlp.url`. */
  readonly url: string;
  /** All requests, also those that were refused. */
  readonly requests: readonly CollectedRequest[];
  /** The spans of the requests that were accepted. */
  readonly spans: readonly CollectedSpan[];
}

/**
 * A collector of OpenTelemetry on loopback, which decodes requests with protobufjs from the official definitions. It closes
 * after the test.
 */
export async function runCollector(respond: Respond = () => undefined): Promise<Collector> {
  const requests: CollectedRequest[] = [];
  const accepted: CollectedSpan[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      const isExport = request.headers["content-type"] === "application/x-protobuf";
      const collected: CollectedRequest = {
        path: request.url ?? "",
        headers: request.headers,
        spans: isExport ? decodeSpans(decompress(body, request.headers["content-encoding"])) : [],
        bytes: body.length,
      };
      requests.push(collected);
      if (respond(response, collected) === undefined) {
        accepted.push(...collected.spans);
        response.writeHead(200, { "content-type": "application/x-protobuf" });
        response.end(responseType.encode({}).finish());
      }
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1/traces`, requests, spans: accepted };
}

/** Responds with a status and a `google.rpc.Status` in protobuf, as collectors do. */
export function refuse(
  response: ServerResponse,
  status: number,
  { message = "no", headers = {} }: { message?: string; headers?: Record<string, string> } = {},
): "responded" {
  response.writeHead(status, { "content-type": "application/x-protobuf", ...headers });
  response.end(statusType.encode({ code: 3, message }).finish());
  return "responded";
}

/** Accepts a request except for some of its spans. */
export function acceptPartly(
  response: ServerResponse,
  rejectedSpans: number,
  errorMessage: string,
): "responded" {
  response.writeHead(200, { "content-type": "application/x-protobuf" });
  response.end(encodePartialSuccess(rejectedSpans, errorMessage));
  return "responded";
}

/** Encodes a response that accepts a request except for some of its spans. */
export const encodePartialSuccess = (rejectedSpans: number, errorMessage: string): Buffer =>
  Buffer.from(responseType.encode({ partialSuccess: { rejectedSpans, errorMessage } }).finish());

function decompress(body: Buffer, encoding: string | undefined): Buffer {
  switch (encoding) {
    case undefined:
      return body;
    case "gzip":
      return gunzipSync(body);
    default:
      throw new Error(`unexpected encoding ${encoding}`);
  }
}

interface Decoded {
  readonly [name: string]: unknown;
}

/** Decodes the body of a request that exports spans. */
export function decodeSpans(body: Buffer): readonly CollectedSpan[] {
  const decoded = requestType.toObject(requestType.decode(body), {
    longs: String,
    enums: String,
    defaults: true,
    arrays: true,
  });
  return items(decoded["resourceSpans"]).flatMap((group) =>
    items(group["scopeSpans"]).flatMap((scopeGroup) =>
      items(scopeGroup["spans"]).map((span): CollectedSpan => {
        const status = (span["status"] ?? {}) as Decoded;
        return {
          traceId: toHex(span["traceId"]),
          spanId: toHex(span["spanId"]),
          parentSpanId: toHex(span["parentSpanId"]),
          name: String(span["name"]),
          kind: String(span["kind"]),
          startNanos: BigInt(String(span["startTimeUnixNano"])),
          endNanos: BigInt(String(span["endTimeUnixNano"])),
          attributes: toAttributes(span),
          events: items(span["events"]).map((event) => ({
            name: String(event["name"]),
            nanos: BigInt(String(event["timeUnixNano"])),
            attributes: toAttributes(event),
          })),
          links: items(span["links"]).map((link) => ({
            traceId: toHex(link["traceId"]),
            spanId: toHex(link["spanId"]),
            attributes: toAttributes(link),
          })),
          status: {
            code: toText(status["code"], "STATUS_CODE_UNSET"),
            message: toText(status["message"], ""),
          },
          resource: toAttributes((group["resource"] ?? {}) as Decoded),
          scope: String(((scopeGroup["scope"] ?? {}) as Decoded)["name"]),
        };
      }),
    ),
  );
}

const items = (value: unknown): readonly Decoded[] => (value ?? []) as readonly Decoded[];

const toText = (value: unknown, fallback: string): string =>
  typeof value === "string" ? value : fallback;

const toHex = (bytes: unknown): string => Buffer.from(bytes as Uint8Array).toString("hex");

const toAttributes = (message: Decoded): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    items(message["attributes"]).map(({ key, value }) => [String(key), toValue(value as Decoded)]),
  );

function toValue(value: Decoded): unknown {
  if (Object.hasOwn(value, "intValue")) {
    return Number(value["intValue"]);
  }
  if (Object.hasOwn(value, "arrayValue")) {
    return items((value["arrayValue"] as Decoded)["values"]).map(toValue);
  }
  return Object.values(value)[0];
}
