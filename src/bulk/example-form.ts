import { randomBytes } from "node:crypto";
import { jsonType } from "../api/request.ts";
import type { RequestBody } from "../api/request.ts";
import { escapePartName } from "../model/part-name.ts";
import type { TapeRow } from "./tape-rows.ts";

/** Members that are parts of their own; the others are in an example's first part. */
const payloads = new Set(["inputs", "outputs"]);
const [open, close, comma] = [Buffer.from("{"), Buffer.from("}"), Buffer.from(",")];

/** The examples as parts (docs/wire.md). */
export function examplesForm(rows: readonly TapeRow[]): RequestBody {
  // Random, as an example may hold any fixed text.
  const boundary = `millrace-${randomBytes(16).toString("hex")}`;
  const pieces: Uint8Array[] = [];
  const part = (name: string, type: string, content: readonly Uint8Array[]): void => {
    const length = content.reduce((sum, { byteLength }) => sum + byteLength, 0);
    pieces.push(
      Buffer.from(
        `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n`,
      ),
      ...content,
      lineEnd,
    );
  };
  for (const { id, members, attachments } of rows) {
    const rest = members.filter(([name]) => !payloads.has(name));
    part(id, jsonType, objectOf(rest));
    for (const [name, json] of members) {
      if (payloads.has(name)) {
        part(`${id}.${name}`, jsonType, [json]);
      }
    }
    for (const { name, mimeType, data } of attachments) {
      part(`${id}.attachment.${escapePartName(name)}`, mimeType, [data]);
    }
  }
  pieces.push(Buffer.from(`--${boundary}--\r\n`));
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    content: Buffer.concat(pieces),
  };
}

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
  Buffer.concat([Buffer.from(`{"id":"${id}",`), ...objectOf(members).slice(1)])
    .toString()
    .replace(/,\}$/, "}");

function objectOf(members: TapeRow["members"]): readonly Uint8Array[] {
  return [
    open,
    ...members.flatMap(([name, json], index) => [
      ...(index === 0 ? [] : [comma]),
      Buffer.from(`"${name}":`),
      json,
    ]),
    close,
  ];
}

const lineEnd = Buffer.from("\r\n");
