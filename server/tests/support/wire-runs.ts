import { randomUUID } from "node:crypto";
import { microsToStamp } from "millrace/model";

/** 2026-11-21T10:11:12.345678Z, microseconds. */
export const someMicros = 1_795_255_872_345_678;

export interface WireRunInit {
  readonly id?: string;
  readonly micros?: number;
  readonly parent?: {
    readonly id: string;
    readonly trace_id: string;
    readonly dotted_order: string;
  };
  readonly [key: string]: unknown;
}

/** A valid run in the wire format, a root unless a parent is given. */
export function wireRun({
  id = randomUUID(),
  micros = someMicros,
  parent,
  ...rest
}: WireRunInit = {}) {
  const own = microsToStamp(micros) + id;
  return {
    id,
    trace_id: parent?.trace_id ?? id,
    dotted_order: parent === undefined ? own : `${parent.dotted_order}.${own}`,
    ...(parent === undefined ? {} : { parent_run_id: parent.id }),
    name: "a run",
    run_type: "chain",
    ...rest,
  };
}

export interface PartInit {
  readonly name: string;
  readonly body: string | Uint8Array;
  /** The declared length; the actual length if omitted, no length if null. */
  readonly length?: number | null;
  readonly contentType?: string;
  readonly headers?: readonly string[];
}

export const boundary = "boundary-of-a-test";

/** The bytes of a multipart body. */
export function multipart(parts: readonly PartInit[]): Buffer {
  const chunks = parts.flatMap(
    ({ name, body, length, contentType = "application/json", headers = [] }) => {
      const bytes = Buffer.from(body);
      const announced = length === null ? "" : `; length=${length ?? bytes.length}`;
      const lines = [
        `--${boundary}`,
        `Content-Disposition: form-data; name="${name}"`,
        `Content-Type: ${contentType}${announced}`,
        ...headers,
      ];
      return [Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), bytes, Buffer.from("\r\n")];
    },
  );
  return Buffer.concat([...chunks, Buffer.from(`--${boundary}--\r\n`)]);
}

export const multipartType = `multipart/form-data; boundary=${boundary}`;
