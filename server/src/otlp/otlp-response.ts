import type { Encoding } from "./decode.ts";
import { rpcStatusType, traceResponseType } from "./proto-types.ts";

/** Content types by encoding. A response has the content type of its request. */
export const contentTypes: Readonly<Record<Encoding, string>> = {
  json: "application/json",
  protobuf: "application/x-protobuf",
};

/**
 * Encodes the body of a response with status 200, with the reasons of rejections. Clients do not send rejected spans
 * again.
 */
export function encodeSuccess(encoding: Encoding, reasons: readonly string[]): Buffer {
  const partialSuccess = {
    rejectedSpans: reasons.length,
    errorMessage: describeRejections(reasons),
  };
  const body = reasons.length === 0 ? {} : { partialSuccess };
  return encoding === "protobuf"
    ? Buffer.from(traceResponseType.encode(traceResponseType.fromObject(body)).finish())
    : Buffer.from(
        // In JSON, protobuf represents a 64-bit integer as a string.
        JSON.stringify(body, (name, value: unknown) =>
          name === "rejectedSpans" ? String(value) : value,
        ),
      );
}

/** Encodes the body of an error response: google.rpc.Status. */
export function encodeFailure(encoding: Encoding, status: number, message: string): Buffer {
  const body = { code: rpcCodes[status] ?? unknownRpcCode, message };
  return encoding === "protobuf"
    ? Buffer.from(rpcStatusType.encode(rpcStatusType.fromObject(body)).finish())
    : Buffer.from(JSON.stringify(body));
}

/** Maximum number of reasons in a message, so that it is readable in a client's log. */
const reasonLimit = 5;

/** Describes why spans were rejected: each different reason once, up to a limit. */
export const describeRejections = (reasons: readonly string[]): string => {
  const shownReasons = [...new Set(reasons)].slice(0, reasonLimit).join("; ");
  const rejectedSpansText = reasons.length === 1 ? "1 span was" : `${reasons.length} spans were`;
  return reasons.length === 0 ? "" : `${rejectedSpansText} rejected: ${shownReasons}`;
};

/** google.rpc.Code by HTTP status. */
const rpcCodes: Readonly<Record<number, number>> = {
  400: 3,
  401: 16,
  403: 7,
  404: 5,
  413: 8,
  415: 3,
  429: 8,
  503: 14,
};
const unknownRpcCode = 2;
