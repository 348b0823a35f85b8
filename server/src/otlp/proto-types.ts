import protobuf from "protobufjs/light.js";

// The messages of OTLP 1 that contain traces (opentelemetry-proto: trace, common, resource, collector), and
// google.rpc.Status, with the fields that this server reads. Other fields are skipped. A field is written as its
// number, its type and, for a list, `repeated`.

const createMessageType = (fields: Readonly<Record<string, string>>): protobuf.IType => ({
  fields: Object.fromEntries(
    Object.entries(fields).map(([name, text]) => {
      const [id = "", type = "", rule] = text.split(" ");
      return [
        name,
        {
          id: Number(id),
          type,
          ...(rule === undefined ? {} : { rule }),
          ...createTextOptions(type),
        },
      ];
    }),
  ),
});

/**
 * Options of a field of type string: text that is not UTF-8 is decoded with replacement characters, so that it does
 * not make the whole request fail.
 */
const createTextOptions = (type: string) =>
  type === "string" ? { options: { features: { utf8_validation: "NONE" } } } : {};

const root = protobuf.Root.fromJSON({
  nested: {
    ExportTraceServiceRequest: createMessageType({ resourceSpans: "1 ResourceSpans repeated" }),
    ResourceSpans: createMessageType({
      resource: "1 Resource",
      scopeSpans: "2 ScopeSpans repeated",
    }),
    Resource: createMessageType({ attributes: "1 KeyValue repeated" }),
    ScopeSpans: createMessageType({ scope: "1 InstrumentationScope", spans: "2 Span repeated" }),
    InstrumentationScope: createMessageType({ name: "1 string", version: "2 string" }),
    Span: createMessageType({
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
    Event: createMessageType({
      timeUnixNano: "1 fixed64",
      name: "2 string",
      attributes: "3 KeyValue repeated",
    }),
    Link: createMessageType({
      traceId: "1 bytes",
      spanId: "2 bytes",
      attributes: "4 KeyValue repeated",
    }),
    SpanStatus: createMessageType({ message: "2 string", code: "3 int32" }),
    // An AnyValue, and the messages in it, are fields of type bytes, which have the same encoding: they are decoded one
    // level at a time, so that a malformed or deeply nested value does not make the whole request fail.
    KeyValue: createMessageType({ key: "1 string", value: "2 bytes" }),
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
      ...createMessageType({
        stringValue: "1 string",
        boolValue: "2 bool",
        intValue: "3 int64",
        doubleValue: "4 double",
        arrayValue: "5 bytes",
        kvlistValue: "6 bytes",
        bytesValue: "7 bytes",
      }),
    },
    ArrayValue: createMessageType({ values: "1 bytes repeated" }),
    KeyValueList: createMessageType({ values: "1 KeyValue repeated" }),
    ExportTraceServiceResponse: createMessageType({
      partialSuccess: "1 ExportTracePartialSuccess",
    }),
    ExportTracePartialSuccess: createMessageType({
      rejectedSpans: "1 int64",
      errorMessage: "2 string",
    }),
    Status: createMessageType({ code: "1 int32", message: "2 string" }),
  },
});

export const traceRequestType = root.lookupType("ExportTraceServiceRequest");

/** A type of message that bytes are decoded to. */
export type MessageType = protobuf.Type;

/** The protobuf message type of the value of an attribute. */
export const anyValueType = root.lookupType("AnyValue");
/** The protobuf message type of a list of attribute values. */
export const arrayValueType = root.lookupType("ArrayValue");
/** The protobuf message type of a map of attribute values. */
export const keyValueListType = root.lookupType("KeyValueList");

/** The body of a response with status 200. */
export const traceResponseType = root.lookupType("ExportTraceServiceResponse");

/** The body of an error response. */
export const rpcStatusType = root.lookupType("Status");
