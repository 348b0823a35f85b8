import { toMembers } from "./json-value.ts";

/** What a backend reports about a request that it did not refuse as a whole. */
export interface PartialSuccess {
  readonly rejectedSpans: number;
  readonly message: string;
}

const noRejection: PartialSuccess = { rejectedSpans: 0, message: "" };

/** Field numbers of `ExportTraceServiceResponse` and `ExportTracePartialSuccess`. */
const partialSuccessField = 1;
const partialSuccess = { rejectedSpans: 1, message: 2 } as const;

const openBrace = 0x7b;

/**
 * Reads how many spans a backend rejected. The response has the encoding of the request, protobuf, but some backends
 * always respond with JSON. A response in neither encoding counts as no rejection, because its status reports that the
 * spans were accepted.
 */
export function readPartialSuccess(body: Buffer): PartialSuccess {
  try {
    // No response in protobuf begins with this byte, which would be the tag of a field that does not exist.
    return body[0] === openBrace ? readJson(body) : readProtobuf(body);
  } catch {
    return noRejection;
  }
}

function readJson(body: Buffer): PartialSuccess {
  const parsed: unknown = JSON.parse(body.toString("utf8"));
  const { partialSuccess: partial } = toMembers(parsed);
  const { rejectedSpans, errorMessage } = toMembers(partial);
  // In JSON, protobuf represents a 64-bit integer as a text.
  const count = Number(rejectedSpans ?? 0);
  return {
    rejectedSpans: Number.isSafeInteger(count) && count > 0 ? count : 0,
    message: typeof errorMessage === "string" ? errorMessage : "",
  };
}

function readProtobuf(body: Buffer): PartialSuccess {
  let result = noRejection;
  readFields(body, (number, value) => {
    if (number === partialSuccessField && value instanceof Buffer) {
      result = readPartial(value);
    }
  });
  return result;
}

function readPartial(body: Buffer): PartialSuccess {
  let { rejectedSpans, message } = noRejection;
  readFields(body, (number, value) => {
    if (number === partialSuccess.rejectedSpans && typeof value === "number") {
      rejectedSpans = value;
    } else if (number === partialSuccess.message && value instanceof Buffer) {
      message = value.toString("utf8");
    }
  });
  return { rejectedSpans, message };
}

/**
 * Calls `onField` for each field of a message. Only integers and fields with a length are read.
 *
 * @throws RangeError the message is malformed, or has a field of another type.
 */
function readFields(body: Buffer, onField: (number: number, value: number | Buffer) => void): void {
  let offset = 0;
  const readVarint = (): number => {
    let value = 0;
    for (let shift = 1; ; shift *= 0x80) {
      const byte = body.readUInt8(offset++);
      value += (byte & 0x7f) * shift;
      if (byte < 0x80) {
        return value;
      }
    }
  };
  while (offset < body.length) {
    const tag = readVarint();
    const number = Math.floor(tag / 8);
    const type = tag % 8;
    if (type === 0) {
      onField(number, readVarint());
    } else if (type === 2) {
      const end = readVarint() + offset;
      if (end > body.length) {
        throw new RangeError("A field exceeds its message");
      }
      onField(number, body.subarray(offset, end));
      offset = end;
    } else {
      throw new RangeError(`Unexpected field type ${type}`);
    }
  }
}

/**
 * Returns the readable text of an error response, which may be a `google.rpc.Status` in protobuf: the bytes of the
 * encoding are removed.
 */
export const toErrorText = (body: string): string =>
  // oxlint-disable-next-line no-control-regex -- the bytes of the encoding are control characters
  body.replaceAll(/[\u0000-\u001f\u007f\ufffd]+/g, " ").trim();
