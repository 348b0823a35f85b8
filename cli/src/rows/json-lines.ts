import { isUtf8 } from "node:buffer";
import { messageOf } from "./byte-source.ts";
import type { ByteSource } from "./byte-source.ts";
import { BadRow, rowLimit } from "./source-row.ts";
import type { RowSource, SourceRow } from "./source-row.ts";

/** A source of JSON objects, one on a line; blank lines are no rows. */
export const openJsonLines = ({ bytes, fraction }: ByteSource): RowSource => ({
  columns: undefined,
  rows: rowsOf(bytes),
  fraction,
  close: async () => undefined,
});

async function* rowsOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<SourceRow | BadRow> {
  let isFirst = true;
  for await (const line of linesOf(bytes)) {
    const text = isFirst && line instanceof Buffer ? withoutMark(line) : line;
    isFirst = false;
    if (text instanceof BadRow) {
      yield text;
    } else if (!isBlank(text)) {
      yield parse(text);
    }
  }
}

const newline = 0x0a;

/** Lines without their line breaks. A line beyond the limit is reported and skipped. */
async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer | BadRow> {
  let pieces: Buffer[] = [];
  let length = 0;
  const take = (): Buffer | BadRow => {
    const line = pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
    const isTooLong = length > rowLimit;
    pieces = [];
    length = 0;
    return isTooLong
      ? new BadRow(`the line is longer than ${rowLimit} bytes`, line.toString("utf8", 0, 1_000))
      : line;
  };
  const add = (piece: Buffer): void => {
    length += piece.length;
    if (length <= rowLimit) {
      pieces.push(piece);
    } else {
      pieces.splice(1);
    }
  };
  for await (const part of bytes) {
    const chunk = Buffer.from(part.buffer, part.byteOffset, part.byteLength);
    let from = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
      add(chunk.subarray(from, end));
      yield take();
      from = end + 1;
    }
    if (from < chunk.length) {
      add(chunk.subarray(from));
    }
  }
  if (length > 0) {
    yield take();
  }
}

function parse(line: Buffer): SourceRow | BadRow {
  if (!isUtf8(line)) {
    return new BadRow("the line is not UTF-8", line.toString("latin1"));
  }
  const text = line.toString("utf8");
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as SourceRow)
      : new BadRow("the line is no JSON object", text);
  } catch (cause) {
    return new BadRow(`the line is no JSON: ${messageOf(cause)}`, text);
  }
}

const withoutMark = (line: Buffer): Buffer =>
  line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? line.subarray(3) : line;

const isBlank = (line: Buffer): boolean =>
  line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
