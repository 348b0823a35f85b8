import { payloadFields } from "../model/run.ts";
import type { Operation, PayloadField } from "../model/run.ts";

export { escapePartName } from "../model/records/part-name.ts";

/** The content encodings of request bodies that the wire supports. */
export type ContentEncoding = "gzip" | "zstd";

/** What one part of `POST /runs/multipart` holds (docs/wire.md). */
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

/** Reads a part's name; `undefined` where it names nothing of the wire. The run id is not checked. */
export function parsePartName(text: string): PartName | undefined {
  const [head, runId, ...rest] = text.split(".");
  const tail = rest.join(".");
  if (head === undefined || runId === undefined || runId === "") {
    return undefined;
  }
  if (head === "post" || head === "patch") {
    if (rest.length === 0) {
      return { kind: "run", operation: head, runId };
    }
    return isPayloadField(tail)
      ? { kind: "field", operation: head, runId, field: tail }
      : undefined;
  }
  if (head === "attachment" && rest.length === 1 && tail !== "") {
    return { kind: "attachment", runId, name: tail };
  }
  return head === "feedback" && rest.length === 0 ? { kind: "feedback", runId } : undefined;
}

/** The text of a part's name; the inverse of {@link parsePartName}. */
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
 * The length in bytes that a part announces: the parameter `length` of its content type, or its own
 * Content-Length. `undefined` where it announces none, which is an error on the wire.
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
