import type { RawExchange } from "../../../model/records/exchange.ts";
import { setMember } from "./json-object.ts";
import type { JsonObject, MutableJsonObject } from "./json-object.ts";
import type { Warnings } from "./warnings.ts";

/** The longest value of a field that is recorded, in bytes. */
const maxFieldBytes = 65_536;

/**
 * Reads a body of `multipart/form-data`: the texts of its fields, and the name, type and size of each of its files. A
 * field that occurs several times becomes a list. Returns `undefined` if the body is something else.
 */
export function readFormData(exchange: RawExchange, warnings: Warnings): JsonObject | undefined {
  const match = /^\s*multipart\/form-data\b.*?;\s*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(
    exchange.contentType ?? "",
  );
  const boundary = match?.[1] ?? match?.[2];
  if (boundary === undefined) {
    return undefined;
  }
  const fields: MutableJsonObject = {};
  for (const part of splitParts(exchange, boundary, warnings)) {
    const { name, value } = readPart(part);
    if (name !== undefined) {
      const earlierValue = Object.hasOwn(fields, name) ? fields[name] : undefined;
      const values: unknown[] = Array.isArray(earlierValue) ? earlierValue : [earlierValue];
      setMember(fields, name, earlierValue === undefined ? value : [...values, value]);
    }
  }
  return fields;
}

/** One part: its headers, and its content as far as it was recorded. */
interface FormPart {
  readonly headers: string;
  readonly content: Buffer;
  readonly sizeBytes: number;
}

function splitParts(
  { body, omittedBytes, omittedAt = 0, ending }: RawExchange,
  boundary: string,
  warnings: Warnings,
): FormPart[] {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const delimiter = `--${boundary}`;
  const parts: FormPart[] = [];
  let start = bytes.indexOf(delimiter);
  while (start !== -1) {
    const partStart = start + delimiter.length;
    if (bytes.toString("latin1", partStart, partStart + 2) === "--") {
      return parts;
    }
    const nextDelimiter = bytes.indexOf(`\r\n${delimiter}`, partStart);
    const end = nextDelimiter === -1 ? bytes.length : nextDelimiter;
    const headersEnd = bytes.indexOf("\r\n\r\n", partStart);
    if (headersEnd !== -1 && headersEnd < end) {
      const contentStart = headersEnd + 4;
      const hasGap = omittedBytes > 0 && contentStart <= omittedAt && omittedAt <= end;
      parts.push({
        headers: bytes.toString("utf8", partStart, headersEnd),
        content: bytes.subarray(contentStart, end),
        sizeBytes: end - contentStart + (hasGap ? omittedBytes : 0),
      });
    }
    start = nextDelimiter === -1 ? -1 : nextDelimiter + 2;
  }
  if (ending !== "cancelled" && ending !== "failed") {
    warnings.add("The form data of the request has no closing boundary.");
  }
  return parts;
}

function readPart({ headers, content, sizeBytes }: FormPart): {
  readonly name: string | undefined;
  readonly value: unknown;
} {
  const disposition = /^content-disposition:(.*)$/im.exec(headers)?.[1] ?? "";
  const name = /;\s*name="((?:[^"\\]|\\.)*)"/i.exec(disposition)?.[1];
  const filename = /;\s*filename="((?:[^"\\]|\\.)*)"/i.exec(disposition)?.[1];
  if (filename !== undefined) {
    const type = /^content-type:\s*(.*?)\s*$/im.exec(headers)?.[1] ?? "application/octet-stream";
    return { name, value: { filename, type, sizeBytes } };
  }
  const isCut = sizeBytes !== content.length || content.length > maxFieldBytes;
  const text = content.toString("utf8", 0, maxFieldBytes);
  return { name, value: isCut ? `${text}[truncated: ${sizeBytes} bytes]` : text };
}
