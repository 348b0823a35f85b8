import { randomBytes } from "node:crypto";
import type { StreamedBody } from "../../transport/transport.ts";
import { mimePattern } from "../../model/records/attachment.ts";
import { ValidationError } from "../../model/errors.ts";
import { escapePartName } from "../../model/records/part-name.ts";
import { blobBody } from "./streamed-bodies.ts";
import type { RequestBody } from "./request.ts";

export type PartContent = string | Uint8Array | Blob | StreamedBody;

/** One part of a `multipart/form-data` body. */
export interface FormPart {
  readonly name: string;
  readonly fileName?: string | undefined;
  /** MIME type; a plain text's is left out. */
  readonly type?: string | undefined;
  readonly content: PartContent;
}

const lineEnd = "\r\n";

/**
 * The body of a form, sent as it is read; in one piece where all of it is in memory. Names are escaped:
 * none can end its header.
 *
 * @throws {@link ValidationError} a name or a type that can't stand in a header.
 */
export function formBody(parts: readonly FormPart[]): RequestBody {
  // Random, as a file may hold any fixed text.
  const boundary = `millrace-${randomBytes(16).toString("hex")}`;
  const contentType = `multipart/form-data; boundary=${boundary}`;
  const pieces = parts.flatMap((part) => {
    const content = toContent(part.content);
    const head = `--${boundary}${lineEnd}${headOf(part, sizeOf(content))}${lineEnd}${lineEnd}`;
    return [Buffer.from(head), content, Buffer.from(lineEnd)];
  });
  const body = [...pieces, Buffer.from(`--${boundary}--${lineEnd}`)];
  const bytes = body.filter((piece) => piece instanceof Uint8Array);
  const isWhole = bytes.length === body.length;
  return { contentType, content: isWhole ? Buffer.concat(bytes) : joined(body) };
}

type Piece = Uint8Array | StreamedBody;

function toContent(content: PartContent): Piece {
  if (typeof content === "string") {
    return Buffer.from(content);
  }
  return content instanceof Blob ? blobBody(content) : content;
}

const sizeOf = (piece: Piece): number | undefined =>
  piece instanceof Uint8Array ? piece.byteLength : piece.sizeBytes;

function headOf({ name, fileName, type }: FormPart, sizeBytes: number | undefined): string {
  const file = fileName === undefined ? "" : `; filename="${quoted(fileName, "file name")}"`;
  const disposition = `Content-Disposition: form-data; name="${quoted(name, "name")}"${file}`;
  if (type === undefined) {
    return disposition;
  }
  if (!mimePattern.test(type)) {
    throw new ValidationError(
      `Not a MIME type: ${JSON.stringify(type.slice(0, 100))}. Give a type and a subtype, such as image/png`,
    );
  }
  const length = sizeBytes === undefined ? "" : `; length=${sizeBytes}`;
  return `${disposition}${lineEnd}Content-Type: ${type}${length}`;
}

function quoted(text: string, what: string): string {
  const escaped = escapePartName(text);
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(escaped)) {
    // Beside line ends, which are escaped: a parser of headers refuses all of it.
    throw new ValidationError(`The ${what} of a part can't hold control characters`);
  }
  return escaped;
}

const joined = (pieces: readonly Piece[]): StreamedBody => {
  const sizes = pieces.map(sizeOf);
  const isKnown = sizes.every((size) => size !== undefined);
  return {
    sizeBytes: isKnown ? sizes.reduce((sum, size) => sum + size, 0) : undefined,
    get isSpent() {
      return pieces.some((piece) => !(piece instanceof Uint8Array) && piece.isSpent);
    },
    async *open() {
      for (const piece of pieces) {
        if (piece instanceof Uint8Array) {
          yield piece;
        } else {
          yield* piece.open();
        }
      }
    },
  };
};
