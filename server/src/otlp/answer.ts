import type { Encoding } from "./decode.ts";
import { rpcStatus, traceResponse } from "./proto-types.ts";

/** The answer's content type is the request's. */
export const contentTypes: Readonly<Record<Encoding, string>> = {
  json: "application/json",
  protobuf: "application/x-protobuf",
};

/** The body of a 200 answer. What was rejected will not be sent again. */
export function encodeSuccess(encoding: Encoding, reasons: readonly string[]): Buffer {
  const partialSuccess = {
    rejectedSpans: reasons.length,
    errorMessage: describe(reasons),
  };
  const body = reasons.length === 0 ? {} : { partialSuccess };
  return encoding === "protobuf"
    ? Buffer.from(traceResponse.encode(traceResponse.fromObject(body)).finish())
    : Buffer.from(
        // A 64-bit integer is a text in the JSON of protobuf.
        JSON.stringify(body, (name, value: unknown) =>
          name === "rejectedSpans" ? String(value) : value,
        ),
      );
}

/** The body of any other answer: google.rpc.Status. */
export function encodeFailure(encoding: Encoding, status: number, message: string): Buffer {
  const body = { code: codes[status] ?? unknownCode, message };
  return encoding === "protobuf"
    ? Buffer.from(rpcStatus.encode(rpcStatus.fromObject(body)).finish())
    : Buffer.from(JSON.stringify(body));
}

/** Reasons shown; what a sender logs should stay readable. */
const reasonLimit = 5;

export const describe = (reasons: readonly string[]): string => {
  const shown = [...new Set(reasons)].slice(0, reasonLimit).join("; ");
  return reasons.length === 0 ? "" : `${reasons.length} spans were rejected: ${shown}`;
};

/** google.rpc.Code of an HTTP status. */
const codes: Readonly<Record<number, number>> = {
  400: 3,
  401: 16,
  403: 7,
  404: 5,
  413: 8,
  415: 3,
  429: 8,
  503: 14,
};
const unknownCode = 2;
