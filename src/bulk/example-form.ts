import { randomBytes } from "node:crypto";
import { jsonType } from "../api/request.ts";
import type { RequestBody } from "../api/request.ts";
import { escapePartName } from "../model/part-name.ts";
import type { TapeRow } from "./tape-rows.ts";

/** Members that are parts of their own; the others are in an example's first part. */
const payloads = new Set(["inputs", "outputs"]);
const [close, comma] = [Buffer.from("}"), Buffer.from(",")];
const [closeByte, openByte, commaByte, crByte, lfByte] = [0x7d, 0x7b, 0x2c, 0x0d, 0x0a];
/** Of the fixed texts of a part, and of its length in digits. */
const partBytes = 256;

/** The examples as parts (docs/wire.md). */
export function examplesForm(rows: readonly TapeRow[]): RequestBody {
  // Random, as an example may hold any fixed text.
  const boundary = `millrace-${randomBytes(16).toString("hex")}`;
  const out = Buffer.allocUnsafe(rows.reduce((sum, row) => sum + roomFor(row), partBytes));
  let at = 0;
  const ascii = (text: string): void => void (at += out.write(text, at, "latin1"));
  const copy = (bytes: Uint8Array): void => {
    out.set(bytes, at);
    at += bytes.byteLength;
  };
  const head = (name: string, type: string, length: number): void =>
    ascii(
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n`,
    );
  const end = (): void => {
    out[at++] = crByte;
    out[at++] = lfByte;
  };
  for (const { id, members, attachments } of rows) {
    const rest = members.filter(([name]) => !payloads.has(name));
    head(id, jsonType, objectLength(rest));
    out[at++] = openByte;
    rest.forEach(([name, json], index) => {
      if (index > 0) {
        out[at++] = commaByte;
      }
      ascii(`"${name}":`);
      copy(json);
    });
    out[at++] = closeByte;
    end();
    for (const [name, json] of members) {
      if (payloads.has(name)) {
        head(`${id}.${name}`, jsonType, json.length);
        copy(json);
        end();
      }
    }
    for (const { name, mimeType, data } of attachments) {
      // A name is any text.
      const partName = Buffer.from(escapePartName(name)).toString("latin1");
      head(`${id}.attachment.${partName}`, mimeType, data.byteLength);
      copy(data);
      end();
    }
  }
  ascii(`--${boundary}--\r\n`);
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    content: out.subarray(0, at),
  };
}

/** Bytes that a row takes as parts, at most. */
const roomFor = ({ members, attachments }: TapeRow): number =>
  members.reduce((sum, [name, json]) => sum + json.length + name.length + partBytes, partBytes) +
  attachments.reduce(
    (sum, { name, mimeType, data }) =>
      sum + data.byteLength + Buffer.byteLength(escapePartName(name)) + mimeType.length + partBytes,
    0,
  );

/** `{"a":…,"b":…}` */
const objectLength = (members: TapeRow["members"]): number =>
  members.reduce((sum, [name, json]) => sum + name.length + 3 + json.length, 0) +
  Math.max(0, members.length - 1) +
  2;

/** The examples as a list in JSON. */
export function examplesJson(rows: readonly TapeRow[], datasetId: string): RequestBody {
  const pieces: Uint8Array[] = [Buffer.from("[")];
  rows.forEach(({ id, members }, index) => {
    pieces.push(Buffer.from(`${index === 0 ? "" : ","}{"id":"${id}","dataset_id":"${datasetId}"`));
    members.forEach(([name, json]) => pieces.push(Buffer.from(`,"${name}":`), json));
    pieces.push(close);
  });
  pieces.push(Buffer.from("]"));
  return { contentType: jsonType, content: Buffer.concat(pieces) };
}

/** JSON of one example, for whoever has to look at it. */
export const exampleText = ({ id, members }: TapeRow): string =>
  Buffer.concat([
    Buffer.from(`{"id":"${id}"`),
    ...members.flatMap(([name, json]) => [comma, Buffer.from(`"${name}":`), json]),
    close,
  ]).toString();
