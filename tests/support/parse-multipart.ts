import { parsePartLength, parsePartName } from "../../src/workers/wire.ts";
import type { PartName } from "../../src/workers/wire.ts";

export interface ParsedPart {
  readonly name: PartName;
  readonly value: unknown;
}

/**
 * Parses a body of `POST /runs/multipart` exactly as docs/wire.md describes the format.
 *
 * @throws Error a delimiter, a header or a length deviates from the format.
 */
export function parseMultipart(contentType: string, body: Buffer): readonly ParsedPart[] {
  const boundary = /^multipart\/form-data; boundary=([\w-]{1,70})$/.exec(contentType)?.[1] ?? "";
  const delimiter = `--${boundary}`;
  const parts: ParsedPart[] = [];
  let at = 0;
  const take = (expected: string): void => {
    const found = body.toString("latin1", at, at + expected.length);
    if (found !== expected) {
      throw new Error(`Expected ${JSON.stringify(expected)} at byte ${at}, not ${found}`);
    }
    at += expected.length;
  };
  for (;;) {
    take(delimiter);
    if (body.toString("latin1", at, at + 2) === "--") {
      take("--\r\n");
      if (at !== body.length) {
        throw new Error(`${body.length - at} bytes after the end`);
      }
      return parts;
    }
    take("\r\n");
    const headEnd = body.indexOf("\r\n\r\n", at);
    const { name, length } = parseHead(body.toString("latin1", at, headEnd));
    at = headEnd + 4;
    parts.push({ name, value: JSON.parse(body.toString("utf8", at, at + length)) as unknown });
    at += length;
    take("\r\n");
  }
}

function parseHead(head: string): { readonly name: PartName; readonly length: number } {
  const [disposition = "", type = "", ...more] = head.split("\r\n");
  const text = /^Content-Disposition: form-data; name="([^"]+)"$/.exec(disposition)?.[1];
  const name = parsePartName(text ?? "");
  const length = parsePartLength(
    /^Content-Type: (application\/json; .*)$/.exec(type)?.[1],
    undefined,
  );
  if (name === undefined || length === undefined || more.length > 0) {
    throw new Error(`Not the head of a part: ${JSON.stringify(head)}`);
  }
  return { name, length };
}
