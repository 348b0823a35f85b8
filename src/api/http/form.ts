import { randomBytes } from "node:crypto";
import type { StreamedBody } from "../../transport/transport.ts";
import { mimePattern } from "../../model/records/attachment.ts";
import { ValidationError } from "../../model/errors.ts";
import { escapePartName } from "../../model/records/part-name.ts";
import { createBlobBody } from "./streamed-bodies.ts";
import type { RequestBody } from "./request.ts";

/** The content of one part of a form. */
export type PartContent = string | Uint8Array | Blob | StreamedBody;

/** One part of a `multipart/form-data` body. */
export interface FormPart {
  readonly name: string;
  readonly fileName?: string | undefined;
  /** MIME type; left out for plain text. */
  readonly type?: string | undefined;
  readonly content: PartContent;
}

const lineEnd = "\r\n";

/**
 * Creates the body of a multipart form: one buffer if all contents are in memory, otherwise a stream. Names are
 * escaped, so that a name can't end the header that contains it and add further headers.
 *
 * @throws {@link ValidationError} if a name or a type can't be written in a header.
 */
export function createFormBody(parts: readonly FormPart[]): RequestBody {
  // The boundary is random, because a file may contain any fixed text.
  const boundary = `millrace-${randomBytes(16).toString("hex")}`;
  const contentType = `multipart/form-data; boundary=${boundary}`;
  const partSegments = parts.flatMap((part) => {
    const content = toSegment(part.content);
    const head = `--${boundary}${lineEnd}${buildPartHeaders(part, measureSegment(content))}${lineEnd}${lineEnd}`;
    return [Buffer.from(head), content, Buffer.from(lineEnd)];
  });
  const segments = [...partSegments, Buffer.from(`--${boundary}--${lineEnd}`)];
  const memorySegments = segments.filter((segment) => segment instanceof Uint8Array);
  const isInMemory = memorySegments.length === segments.length;
  return {
    contentType,
    content: isInMemory ? Buffer.concat(memorySegments) : joinSegments(segments),
  };
}

/** A piece of a request body: bytes in memory, or a stream. */
type Segment = Uint8Array | StreamedBody;

function toSegment(content: PartContent): Segment {
  if (typeof content === "string") {
    return Buffer.from(content);
  }
  return content instanceof Blob ? createBlobBody(content) : content;
}

const measureSegment = (segment: Segment): number | undefined =>
  segment instanceof Uint8Array ? segment.byteLength : segment.sizeBytes;

function buildPartHeaders(
  { name, fileName, type }: FormPart,
  sizeBytes: number | undefined,
): string {
  const fileNameParameter =
    fileName === undefined ? "" : `; filename="${escapeHeaderValue(fileName, "file name")}"`;
  const disposition = `Content-Disposition: form-data; name="${escapeHeaderValue(name, "name")}"${fileNameParameter}`;
  if (type === undefined) {
    return disposition;
  }
  if (!mimePattern.test(type)) {
    throw new ValidationError(
      `Not a MIME type: ${JSON.stringify(type.slice(0, 100))}. Give a type and a subtype, such as image/png`,
    );
  }
  const lengthParameter = sizeBytes === undefined ? "" : `; length=${sizeBytes}`;
  return `${disposition}${lineEnd}Content-Type: ${type}${lengthParameter}`;
}

function escapeHeaderValue(text: string, label: string): string {
  const escaped = escapePartName(text);
  // oxlint-disable-next-line no-control-regex -- the pattern searches for control characters
  if (/[\u0000-\u001f\u007f]/.test(escaped)) {
    // Line ends are already escaped. Header parsers reject every other control character.
    throw new ValidationError(`The ${label} of a form part can't contain control characters`);
  }
  return escaped;
}

const joinSegments = (segments: readonly Segment[]): StreamedBody => {
  const sizes = segments.map(measureSegment);
  const areAllKnown = sizes.every((size) => size !== undefined);
  return {
    sizeBytes: areAllKnown ? sizes.reduce((sum, size) => sum + size, 0) : undefined,
    get isConsumed() {
      return segments.some((segment) => !(segment instanceof Uint8Array) && segment.isConsumed);
    },
    async *open() {
      for (const segment of segments) {
        if (segment instanceof Uint8Array) {
          yield segment;
        } else {
          yield* segment.open();
        }
      }
    },
  };
};
