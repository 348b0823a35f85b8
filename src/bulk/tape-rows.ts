import type { JsonWriter } from "../workers/json-writer.ts";
import type { TapeReader } from "../workers/tape-reader.ts";
import { rowField } from "./row-format.ts";
import { idOfContent } from "./row-id.ts";

/** Binary data that goes with a row. */
export interface RowAttachment {
  readonly name: string;
  readonly mimeType: string;
  readonly data: Uint8Array;
}

/** A row as it is sent. */
export interface TapeRow {
  readonly record: number;
  /** Its number in the source. */
  readonly row: number;
  readonly id: string;
  /** JSON of its members, in their order on the wire. */
  readonly members: readonly (readonly [name: string, json: Buffer])[];
  readonly attachments: readonly RowAttachment[];
}

const members = [
  ["inputs", rowField.inputs],
  ["outputs", rowField.outputs],
  ["metadata", rowField.metadata],
  ["split", rowField.split],
  ["created_at", rowField.createdAt],
  ["source_run_id", rowField.sourceRunId],
] as const;

/** Reads the examples of a tape whose outcome is open; those without an id get one of their content. */
export function readRows(reader: TapeReader, out: JsonWriter, place: string): readonly TapeRow[] {
  const { bytes, view } = reader;
  const rows: TapeRow[] = [];
  const json = (at: number): Buffer => {
    out.length = 0;
    out.value(bytes, view, at);
    return Buffer.from(out.bytes.subarray(0, out.length));
  };
  for (let record = 0; record < reader.count; record++) {
    const texts = members
      .filter(([, code]) => reader.start(record, code) !== 0)
      .map(([name, code]) => [name, json(reader.start(record, code))] as const);
    const attachments = reader.others(record).map((at) => attachmentAt(reader, at, json));
    const idAt = reader.start(record, rowField.id);
    rows.push({
      record,
      row: view.getFloat64(reader.start(record, rowField.row), true),
      id:
        idAt === 0
          ? idOfContent(place, contentOf(texts, attachments))
          : bytes.toString("latin1", idAt, idAt + reader.length(record, rowField.id)),
      members: texts,
      attachments,
    });
  }
  return rows;
}

/** `{"inputs":…,"outputs":…}`, in pieces; when it was made is not part of what it is. */
const contentOf = (
  texts: TapeRow["members"],
  attachments: readonly RowAttachment[],
): readonly Uint8Array[] => [
  ...texts
    .filter(([name]) => name !== "created_at")
    .flatMap(([name, json], index) => [Buffer.from(`${index === 0 ? "{" : ","}"${name}":`), json]),
  ...attachments.flatMap(({ name, data }) => [Buffer.from(JSON.stringify(name)), data]),
];

/** A text, the name; then `[type, bytes]`, where the bytes are a text that names their type, their length, and they. */
function attachmentAt(
  { bytes, view }: TapeReader,
  start: number,
  json: (at: number) => Buffer,
): RowAttachment {
  const name = JSON.parse(json(start).toString()) as string;
  const typeAt = endOfText(bytes, view, start) + 1;
  const mimeType = JSON.parse(json(typeAt).toString()) as string;
  const lengthAt = endOfText(bytes, view, endOfText(bytes, view, typeAt) + 1);
  const length = view.getUint32(lengthAt, true);
  return { name, mimeType, data: bytes.subarray(lengthAt + 4, lengthAt + 4 + length) };
}

function endOfText(bytes: Buffer, view: DataView, at: number): number {
  const kind = bytes[at] ?? 0;
  return kind >= 0x80 ? at + 1 + (kind & 0x7f) : at + 5 + view.getUint32(at + 1, true);
}
