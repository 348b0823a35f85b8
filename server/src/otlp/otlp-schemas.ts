import { Type } from "typebox";
import { AnyObject, Bytes, Count, List, Text } from "../http/schema-parts.ts";

/** Creates the schemas, by content type, of a body of OTLP: as JSON, and in the binary encoding of protobuf. */
const createForBothEncodings = (json: ReturnType<typeof Type.Object>) => ({
  "application/json": json,
  "application/x-protobuf": Bytes,
});

/** Body of a request: ExportTraceServiceRequest. */
export const spansSchemas = createForBothEncodings(
  Type.Object({ resourceSpans: Type.Optional(List(AnyObject)) }, { title: "ExportTraceRequest" }),
);

/** Body of a response: ExportTraceServiceResponse. In JSON, protobuf represents a 64-bit integer as a string. */
export const spansResponses = createForBothEncodings(
  Type.Object(
    {
      partialSuccess: Type.Optional(Type.Object({ rejectedSpans: Text, errorMessage: Text })),
    },
    { title: "ExportTraceResponse" },
  ),
);

/** Body of an error: google.rpc.Status. */
export const spansErrors = createForBothEncodings(
  Type.Object({ code: Count, message: Text }, { title: "RpcStatus" }),
);
