import protobuf from "protobufjs/light.js";

// The messages of OTLP 1 that contain traces (opentelemetry-proto: trace, common, resource, collector), and
// google.rpc.Status, with the fields that this server reads. Other fields are skipped. A field is written as its
// number, its type and, for a list, `repeated`.

const message = (fields: Readonly<Record<string, string>>): protobuf.IType => ({
  fields: Object.fromEntries(
    Object.entries(fields).map(([name, text]) => {
      const [id = "", type = "", rule] = text.split(" ");
      return [
        name,
        { id: Number(id), type, ...(rule === undefined ? {} : { rule }), ...lenientText(type) },
      ];
    }),
  ),
});

/**
 * Options of a field of type string: text that is not UTF-8 is decoded with replacement characters, so that it does not
 * fail the whole request.
 */
const lenientText = (type: string) =>
  type === "string" ? { options: { features: { utf8_validation: "NONE" } } } : {};

const root = protobuf.Root.fromJSON({
  nested: {
    ExportTraceServiceRequest: message({ resourceSpans: "1 ResourceSpans repeated" }),
    ResourceSpans: message({ resource: "1 Resource", scopeSpans: "2 ScopeSpans repeated" }),
    Resource: message({ attributes: "1 KeyValue repeated" }),
    ScopeSpans: message({ scope: "1 InstrumentationScope", spans: "2 Span repeated" }),
    InstrumentationScope: message({ name: "1 string", version: "2 string" }),
    Span: message({
      traceId: "1 bytes",
      spanId: "2 bytes",
      traceState: "3 string",
      parentSpanId: "4 bytes",
      name: "5 string",
      kind: "6 int32",
      startTimeUnixNano: "7 fixed64",
      endTimeUnixNano: "8 fixed64",
      attributes: "9 KeyValue repeated",
      events: "11 Event repeated",
      links: "13 Link repeated",
      status: "15 SpanStatus",
      flags: "16 fixed32",
    }),
    Event: message({
      timeUnixNano: "1 fixed64",
      name: "2 string",
      attributes: "3 KeyValue repeated",
    }),
    Link: message({ traceId: "1 bytes", spanId: "2 bytes", attributes: "4 KeyValue repeated" }),
    SpanStatus: message({ message: "2 string", code: "3 int32" }),
    KeyValue: message({ key: "1 string", value: "2 AnyValue" }),
    AnyValue: {
      oneofs: {
        value: {
          oneof: [
            "stringValue",
            "boolValue",
            "intValue",
            "doubleValue",
            "arrayValue",
            "kvlistValue",
            "bytesValue",
          ],
        },
      },
      ...message({
        stringValue: "1 string",
        boolValue: "2 bool",
        intValue: "3 int64",
        doubleValue: "4 double",
        arrayValue: "5 ArrayValue",
        kvlistValue: "6 KeyValueList",
        bytesValue: "7 bytes",
      }),
    },
    ArrayValue: message({ values: "1 AnyValue repeated" }),
    KeyValueList: message({ values: "1 KeyValue repeated" }),
    ExportTraceServiceResponse: message({ partialSuccess: "1 ExportTracePartialSuccess" }),
    ExportTracePartialSuccess: message({ rejectedSpans: "1 int64", errorMessage: "2 string" }),
    Status: message({ code: "1 int32", message: "2 string" }),
  },
});

/** The body of a request. */
export const traceRequest = root.lookupType("ExportTraceServiceRequest");

/** The body of a response with status 200. */
export const traceResponse = root.lookupType("ExportTraceServiceResponse");

/** The body of an error response. */
export const rpcStatus = root.lookupType("Status");
