import type { StreamedBody } from "../../transport/transport.ts";
import { madeAttachmentPrefix } from "../../model/records/attachment.ts";
import { escapePartName } from "../../model/records/part-name.ts";
import { inMemory } from "./attachments.ts";
import type { Attachment } from "./attachments.ts";
import type { JsonWriter } from "./json-writer.ts";
import type { RunOperation } from "./operations.ts";
import { formatPartName } from "../wire.ts";

/** Bytes that belong into a body at a place, and are not copied into it. */
export interface Insert {
  readonly at: number;
  readonly attachment: Attachment;
}

/** The type of binary data of which nothing is known but that. */
const bytesType = "application/octet-stream";

/** Gathers the attachments of the runs of one request, and writes the heads of their parts. */
export class AttachmentParts {
  readonly inserts: Insert[] = [];
  readonly #out: JsonWriter;
  readonly #boundary: string;
  /** Of the present run: binary data that was taken out of its values. */
  #made: Attachment[] = [];

  constructor(out: JsonWriter, boundary: string) {
    this.#out = out;
    this.#boundary = boundary;
  }

  /** From here on binary data of a run's field becomes attachments, where it is large enough. */
  takeFrom(field: string, fromBytes: number): void {
    let count = 0;
    this.#out.apart = (data) => {
      if (data.length < fromBytes) {
        return undefined;
      }
      count += 1;
      const name = `${madeAttachmentPrefix}${field}_${count}`;
      this.#made.push(inMemory({ name, mimeType: bytesType, record: -1 }, data));
      return name;
    };
  }

  /** Writes a part for each attachment of a run that was written just now. */
  end({ id, attachments = [] }: RunOperation): void {
    this.#out.apart = undefined;
    for (const attachment of this.#made.length === 0
      ? attachments
      : [...attachments, ...this.#made]) {
      this.#part(id, attachment);
    }
    this.#made = [];
  }

  #part(runId: string, attachment: Attachment): void {
    const { name, mimeType, sizeBytes } = attachment;
    const partName = escapePartName(formatPartName({ kind: "attachment", runId, name }));
    this.#text(
      `--${this.#boundary}\r\nContent-Disposition: form-data; name="${partName}"\r\n` +
        `Content-Type: ${mimeType}; length=${sizeBytes}\r\n\r\n`,
    );
    this.inserts.push({ at: this.#out.length, attachment });
    this.#text("\r\n");
  }

  #text(text: string): void {
    const bytes = Buffer.from(text);
    this.#out.raw(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), 0, bytes.length);
  }
}

export const attachedBytes = (inserts: readonly Insert[]): number =>
  inserts.reduce((sum, { attachment }) => sum + attachment.sizeBytes, 0);

/** A body with its attachments in their places, read as it is sent. */
export const bodyWith = (frame: Buffer, inserts: readonly Insert[]): StreamedBody => ({
  sizeBytes: frame.length + attachedBytes(inserts),
  isSpent: false,
  async *open() {
    let at = 0;
    for (const insert of inserts) {
      yield frame.subarray(at, insert.at);
      yield* insert.attachment.open();
      at = insert.at;
    }
    yield frame.subarray(at);
  },
});

/**
 * Events that say which attachments of a run are not sent, after those that it has: `out` ends with the
 * JSON of them, which begins at `start`.
 */
export function addUnsent(
  out: JsonWriter,
  start: number,
  attachments: readonly Attachment[],
): void {
  if (out.bytes[out.length - 1] !== 0x5d) {
    // Events that are no list stay as they are.
    return;
  }
  out.length -= 1;
  let separator = out.bytes[start] === 0x5b && out.length === start + 1 ? "" : ",";
  for (const { name, mimeType, sizeBytes, leftOut = "" } of attachments) {
    const marker = {
      name: "[attachment left out]",
      attachment: name,
      mime_type: mimeType,
      bytes: sizeBytes,
      reason: leftOut,
    };
    const text = Buffer.from(separator + JSON.stringify(marker));
    out.raw(new DataView(text.buffer, text.byteOffset, text.length), 0, text.length);
    separator = ",";
  }
  out.byte(0x5d);
}
