import type { StreamedBody } from "../../transport/transport.ts";
import { extractedAttachmentPrefix } from "../../model/records/attachment.ts";
import { escapePartName } from "../../model/records/part-name.ts";
import { createMemoryAttachment } from "./attachments.ts";
import type { Attachment } from "./attachments.ts";
import type { JsonWriter } from "./json-writer.ts";
import type { RunOperation } from "./operations.ts";
import { formatPartName } from "../wire.ts";

/** An attachment and its position in a request body. Its bytes are inserted while the body is sent. */
export interface AttachmentInsert {
  /** Byte offset in the body without attachments. */
  readonly offset: number;
  readonly attachment: Attachment;
}

/** MIME type of binary data of an unknown type. */
const bytesType = "application/octet-stream";

/** Collects the attachments of the runs of one request, and writes the heads of their parts. */
export class AttachmentParts {
  readonly inserts: AttachmentInsert[] = [];
  readonly #out: JsonWriter;
  readonly #boundary: string;
  /** Binary data that was extracted from the values of the current run. */
  #extractedAttachments: Attachment[] = [];

  constructor(out: JsonWriter, boundary: string) {
    this.#out = out;
    this.#boundary = boundary;
  }

  /**
   * From now on, binary data in the values of this field becomes an attachment if it has at least
   * `minBytes` bytes.
   */
  extractBinaryFrom(field: string, minBytes: number): void {
    let count = 0;
    this.#out.extractBinary = (data) => {
      if (data.length < minBytes) {
        return undefined;
      }
      count += 1;
      const name = `${extractedAttachmentPrefix}${field}_${count}`;
      this.#extractedAttachments.push(
        createMemoryAttachment({ name, mimeType: bytesType, record: -1 }, data),
      );
      return name;
    };
  }

  /** Writes a part for each attachment of the run that was just written. */
  writeParts({ id, attachments = [] }: RunOperation): void {
    this.#out.extractBinary = undefined;
    for (const attachment of this.#extractedAttachments.length === 0
      ? attachments
      : [...attachments, ...this.#extractedAttachments]) {
      this.#writePart(id, attachment);
    }
    this.#extractedAttachments = [];
  }

  #writePart(runId: string, attachment: Attachment): void {
    const { name, mimeType, sizeBytes } = attachment;
    const partName = escapePartName(formatPartName({ kind: "attachment", runId, name }));
    this.#writeText(
      `--${this.#boundary}\r\nContent-Disposition: form-data; name="${partName}"\r\n` +
        `Content-Type: ${mimeType}; length=${sizeBytes}\r\n\r\n`,
    );
    this.inserts.push({ offset: this.#out.length, attachment });
    this.#writeText("\r\n");
  }

  #writeText(text: string): void {
    const bytes = Buffer.from(text);
    this.#out.writeRaw(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), 0, bytes.length);
  }
}

/** Returns the total size of the attachments to insert. */
export const sumAttachmentBytes = (inserts: readonly AttachmentInsert[]): number =>
  inserts.reduce((sum, { attachment }) => sum + attachment.sizeBytes, 0);

/** Creates a request body from a body and the attachments to insert into it, which are read while the body is sent. */
export const createStreamedBody = (
  bodyWithoutAttachments: Buffer,
  inserts: readonly AttachmentInsert[],
): StreamedBody => ({
  sizeBytes: bodyWithoutAttachments.length + sumAttachmentBytes(inserts),
  isConsumed: false,
  async *open() {
    let position = 0;
    for (const insert of inserts) {
      yield bodyWithoutAttachments.subarray(position, insert.offset);
      yield* insert.attachment.openContent();
      position = insert.offset;
    }
    yield bodyWithoutAttachments.subarray(position);
  },
});

/**
 * Appends an event for each attachment that is not sent, after the run's own events. The JSON array of the run's own
 * events begins at `start` in `out`, and must be the last value written to `out`.
 */
export function appendOmittedEvents(
  out: JsonWriter,
  start: number,
  attachments: readonly Attachment[],
): void {
  if (out.bytes[out.length - 1] !== 0x5d) {
    // If `events` is not an array, it is left unchanged.
    return;
  }
  out.length -= 1;
  let separator = out.bytes[start] === 0x5b && out.length === start + 1 ? "" : ",";
  for (const attachment of attachments) {
    const { name, omittedReason = "", original = attachment } = attachment;
    const marker = {
      name: "[attachment left out]",
      attachment: name,
      mime_type: original.mimeType,
      bytes: original.sizeBytes,
      reason: omittedReason,
    };
    const text = Buffer.from(separator + JSON.stringify(marker));
    out.writeRaw(new DataView(text.buffer, text.byteOffset, text.length), 0, text.length);
    separator = ",";
  }
  out.writeByte(0x5d);
}
