import { payloadFields } from "../model/run.ts";
import type { Operation, PayloadField } from "../model/run.ts";

export { escapePartName } from "../model/records/part-name.ts";

/** The content encodings of request bodies that the wire protocol supports. */
export type ContentEncoding = "gzip" | "zstd";

/** The parsed name of a part of a `POST /runs/multipart` body. The name determines what the part contains (docs/wire.md). */
export type PartName =
  | { readonly kind: "run"; readonly operation: Operation; readonly runId: string }
  | {
      readonly kind: "field";
      readonly operation: Operation;
      readonly runId: string;
      readonly field: PayloadField;
    }
  | { readonly kind: "attachment"; readonly runId: string; readonly name: string }
  | { readonly kind: "feedback"; readonly runId: string };

const isPayloadField = (text: string): text is PayloadField =>
  payloadFields.some((field) => field === text);

/**
 * Parses a part's name. Returns `undefined` if the wire format does not define such a name. The run
 * id is not validated.
 */
export function parsePartName(text: string): PartName | undefined {
  const [head, runId, ...segments] = text.split(".");
  const suffix = segments.join(".");
  if (head === undefined || runId === undefined || runId === "") {
    return undefined;
  }
  if (head === "post" || head === "patch") {
    if (segments.length === 0) {
      return { kind: "run", operation: head, runId };
    }
    return isPayloadField(suffix)
      ? { kind: "field", operation: head, runId, field: suffix }
      : undefined;
  }
  if (head === "attachment" && segments.length === 1 && suffix !== "") {
    return { kind: "attachment", runId, name: suffix };
  }
  return head === "feedback" && segments.length === 0 ? { kind: "feedback", runId } : undefined;
}

/** Formats a part's name; the inverse of {@link parsePartName}. */
export function formatPartName(part: PartName): string {
  switch (part.kind) {
    case "run":
      return `${part.operation}.${part.runId}`;
    case "field":
      return `${part.operation}.${part.runId}.${part.field}`;
    case "attachment":
      return `attachment.${part.runId}.${part.name}`;
    case "feedback":
      return `feedback.${part.runId}`;
  }
}

/**
 * Returns the length in bytes that a part declares: the parameter `length` of its content type, or
 * its Content-Length header. `undefined` if it declares none, which the wire format does not allow.
 */
export function parsePartLength(
  contentType: string | undefined,
  contentLength: string | undefined,
): number | undefined {
  const parameter = /;\s*length\s*=\s*"?(\d{1,15})"?\s*(?:;|$)/i.exec(contentType ?? "")?.[1];
  const header = /^\s*(\d{1,15})\s*$/.exec(contentLength ?? "")?.[1];
  const text = parameter ?? header;
  return text === undefined ? undefined : Number(text);
}
