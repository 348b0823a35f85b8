import { literal } from "../workers/json/ascii.ts";
import { JsonWriter } from "../workers/json/json-writer.ts";
import type { TapeReader } from "../workers/json/tape-reader.ts";
import { rowField } from "./row-format.ts";
import { contentHead, idOfNamed } from "./row-id.ts";

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
  ["source_run_id", rowField.sourceRunId],
  // The last: when it was made is not part of what it is.
  ["created_at", rowField.createdAt],
] as const;
const names = new Map(
  members.flatMap(([name]) =>
    ["{", ","].map((mark) => [`${mark}${name}`, literal(`${mark}"${name}":`)]),
  ),
);

/**
 * Reads the examples of a tape whose outcome is open; those without an id get one of their content.
 * All JSON is written one after another, `{"inputs":…,"outputs":…` behind what the place of the ids is:
 * so it is hashed and handed on where it stands.
 */
export function readRows(reader: TapeReader, place: string): readonly TapeRow[] {
  const { bytes, view } = reader;
  const rows: TapeRow[] = [];
  const out = new JsonWriter(Buffer.allocUnsafe(bytes.length + 65_536));
  const head = contentHead(place);
  const headView = new DataView(head.buffer, head.byteOffset, head.byteLength);
  for (let record = 0; record < reader.count; record++) {
    const attachments = reader.others(record).map((at) => attachmentAt(reader, at));
    const texts: [string, Buffer][] = [];
    out.literal(headView);
    const from = out.length;
    let end = from;
    for (const [name, code] of members) {
      const at = reader.start(record, code);
      if (at !== 0) {
        out.literal(names.get(`${texts.length === 0 ? "{" : ","}${name}`) ?? headView);
        const begin = out.length;
        out.value(bytes, view, at);
        texts.push([name, out.bytes.subarray(begin, out.length)]);
        end = name === "created_at" ? end : out.length;
      }
    }
    const idAt = reader.start(record, rowField.id);
    rows.push({
      record,
      row: view.getFloat64(reader.start(record, rowField.row), true),
      id:
        idAt === 0
          ? idOfNamed(withFiles(out.bytes.subarray(from - head.length, end), attachments))
          : bytes.toString("latin1", idAt, idAt + reader.length(record, rowField.id)),
      members: texts,
      attachments,
    });
  }
  return rows;
}

const withFiles = (content: Buffer, attachments: readonly RowAttachment[]): Buffer =>
  attachments.length === 0
    ? content
    : Buffer.concat([
        content,
        ...attachments.flatMap(({ name, data }) => [Buffer.from(JSON.stringify(name)), data]),
      ]);

/** A text, the name; then `[type, bytes]`, where the bytes are a text that names their type, their length, and they. */
function attachmentAt({ bytes, view }: TapeReader, start: number): RowAttachment {
  const json = (at: number): Buffer => {
    const out = new JsonWriter(Buffer.allocUnsafe(256));
    out.value(bytes, view, at);
    return out.bytes.subarray(0, out.length);
  };
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
