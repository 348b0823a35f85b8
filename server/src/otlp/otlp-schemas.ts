import { Type } from "typebox";
import { AnyObject, Bytes, Count, List, Text } from "../http/schema-parts.ts";

/** A body of OpenTelemetry, as JSON or in the binary encoding of protobuf. */
const inBothEncodings = (json: ReturnType<typeof Type.Object>) => ({
  "application/json": json,
  "application/x-protobuf": Bytes,
});

/** ExportTraceServiceRequest. */
export const spansSchemas = inBothEncodings(
  Type.Object({ resourceSpans: Type.Optional(List(AnyObject)) }, { title: "ExportTraceRequest" }),
);

/** ExportTraceServiceResponse. In the JSON of protobuf, a 64-bit integer is a string. */
export const spansResponses = inBothEncodings(
  Type.Object(
    {
      partialSuccess: Type.Optional(Type.Object({ rejectedSpans: Text, errorMessage: Text })),
    },
    { title: "ExportTraceResponse" },
  ),
);

/** google.rpc.Status. */
export const spansErrors = inBothEncodings(
  Type.Object({ code: Count, message: Text }, { title: "RpcStatus" }),
);
