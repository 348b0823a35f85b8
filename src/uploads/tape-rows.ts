import { toView } from "../workers/json/ascii.ts";
import { JsonWriter } from "../workers/json/json-writer.ts";
import type { TapeReader } from "../workers/json/tape-reader.ts";
import { rowField } from "./row-format.ts";
import { createContentPrefix, createUuid5 } from "./row-id.ts";

/** An attachment of a row. */
export interface RowAttachment {
  readonly name: string;
  readonly mimeType: string;
  readonly data: Uint8Array;
}

/** A row in the form in which it is sent. */
export interface TapeRow {
  /** Index of the row's record on the tape. */
  readonly record: number;
  /** The row's number in the source, from 1. */
  readonly row: number;
  readonly id: string;
  /** The members of the example as JSON, in the order of the wire format. */
  readonly members: readonly (readonly [name: string, json: Buffer])[];
  readonly attachments: readonly RowAttachment[];
}

const members = [
  ["inputs", rowField.inputs],
  ["outputs", rowField.outputs],
  ["metadata", rowField.metadata],
  ["split", rowField.split],
  ["source_run_id", rowField.sourceRunId],
  // Must be the last entry: the id of a row without a key is computed from the JSON before it, so that two rows that
  // differ only in their creation time have the same id.
  ["created_at", rowField.createdAt],
] as const;
/**
 * The bytes of each member's name as JSON, with the separator before it. The keys are such as `{inputs` and `,inputs`.
 */
const encodedNames = new Map(
  members.flatMap(([name]) =>
    ["{", ","].map((separator) => [`${separator}${name}`, toView(`${separator}"${name}":`)]),
  ),
);

/**
 * Reads the examples that have no outcome yet from a tape, a buffer of encoded rows. If an example has no id, its id is
 * computed from its content. The JSON of all rows is written into one buffer: for each row a prefix that is hashed
 * together with the content, then the content `{"inputs":…,"outputs":…`. In this way the content can be hashed and sent
 * without copying it.
 */
export function readRows(reader: TapeReader, namespace: string): readonly TapeRow[] {
  const { bytes, view } = reader;
  const rows: TapeRow[] = [];
  const out = new JsonWriter(Buffer.allocUnsafe(bytes.length + 65_536));
  const idPrefix = createContentPrefix(namespace);
  const idPrefixView = new DataView(idPrefix.buffer, idPrefix.byteOffset, idPrefix.byteLength);
  for (let record = 0; record < reader.count; record++) {
    const attachments = reader
      .listUnknownFields(record)
      .map((offset) => readAttachment(reader, offset));
    const memberJson: [string, Buffer][] = [];
    out.writeLiteral(idPrefixView);
    const contentStart = out.length;
    let idEnd = contentStart;
    for (const [name, code] of members) {
      const offset = reader.findFieldStart(record, code);
      if (offset !== 0) {
        out.writeLiteral(
          encodedNames.get(`${memberJson.length === 0 ? "{" : ","}${name}`) ?? idPrefixView,
        );
        const jsonStart = out.length;
        out.writeValue(bytes, view, offset);
        memberJson.push([name, out.bytes.subarray(jsonStart, out.length)]);
        idEnd = name === "created_at" ? idEnd : out.length;
      }
    }
    const idOffset = reader.findFieldStart(record, rowField.id);
    rows.push({
      record,
      row: view.getFloat64(reader.findFieldStart(record, rowField.row), true),
      id:
        idOffset === 0
          ? createUuid5(
              appendAttachments(
                out.bytes.subarray(contentStart - idPrefix.length, idEnd),
                attachments,
              ),
            )
          : bytes.toString(
              "latin1",
              idOffset,
              idOffset + reader.findFieldLength(record, rowField.id),
            ),
      members: memberJson,
      attachments,
    });
  }
  return rows;
}

const appendAttachments = (content: Buffer, attachments: readonly RowAttachment[]): Buffer =>
  attachments.length === 0
    ? content
    : Buffer.concat([
        content,
        ...attachments.flatMap(({ name, data }) => [Buffer.from(JSON.stringify(name)), data]),
      ]);

/**
 * Reads an attachment: a text with the name, then the array `[mimeType, bytes]`. `bytes` is encoded as a text with the
 * name of the data's type, the length of the data and the data.
 */
function readAttachment({ bytes, view }: TapeReader, start: number): RowAttachment {
  const readJson = (offset: number): Buffer => {
    const out = new JsonWriter(Buffer.allocUnsafe(256));
    out.writeValue(bytes, view, offset);
    return out.bytes.subarray(0, out.length);
  };
  const name = JSON.parse(readJson(start).toString()) as string;
  const typeOffset = findTextEnd(bytes, view, start) + 1;
  const mimeType = JSON.parse(readJson(typeOffset).toString()) as string;
  const lengthOffset = findTextEnd(bytes, view, findTextEnd(bytes, view, typeOffset) + 1);
  const length = view.getUint32(lengthOffset, true);
  return { name, mimeType, data: bytes.subarray(lengthOffset + 4, lengthOffset + 4 + length) };
}

function findTextEnd(bytes: Buffer, view: DataView, offset: number): number {
  const tagByte = bytes[offset] ?? 0;
  return tagByte >= 0x80
    ? offset + 1 + (tagByte & 0x7f)
    : offset + 5 + view.getUint32(offset + 1, true);
}
