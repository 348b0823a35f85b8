import { isUtf8 } from "node:buffer";
import { messageOf } from "./byte-source.ts";
import type { ByteSource } from "./byte-source.ts";
import { BadRow, rowLimit } from "./source-row.ts";
import type { RowSource, SourceRow } from "./source-row.ts";

/** Opens a source with one JSON object per line. Blank lines are skipped. */
export const openJsonLines = ({ bytes, fraction }: ByteSource): RowSource => ({
  columns: undefined,
  rows: readRows(bytes),
  fraction,
  close: async () => undefined,
});

async function* readRows(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<SourceRow | BadRow> {
  let isFirst = true;
  for await (const line of splitLines(bytes)) {
    const text = isFirst && line instanceof Buffer ? stripByteOrderMark(line) : line;
    isFirst = false;
    if (text instanceof BadRow) {
      yield text;
    } else if (!isBlank(text)) {
      yield parse(text);
    }
  }
}

const newline = 0x0a;

/**
 * Splits bytes into lines, without their line ends. A line that exceeds the limit is yielded as a
 * {@link BadRow}.
 */
async function* splitLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer | BadRow> {
  let parts: Buffer[] = [];
  let length = 0;
  const finishLine = (): Buffer | BadRow => {
    const line = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
    const isTooLong = length > rowLimit;
    parts = [];
    length = 0;
    return isTooLong
      ? new BadRow(`the line is longer than ${rowLimit} bytes`, line.toString("utf8", 0, 1_000))
      : line;
  };
  const add = (part: Buffer): void => {
    length += part.length;
    if (length <= rowLimit) {
      parts.push(part);
    } else {
      parts.splice(1);
    }
  };
  for await (const view of bytes) {
    const chunk = Buffer.from(view.buffer, view.byteOffset, view.byteLength);
    let from = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
      add(chunk.subarray(from, end));
      yield finishLine();
      from = end + 1;
    }
    if (from < chunk.length) {
      add(chunk.subarray(from));
    }
  }
  if (length > 0) {
    yield finishLine();
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
      : new BadRow("the line is not a JSON object", text);
  } catch (cause) {
    return new BadRow(`the line is not JSON: ${messageOf(cause)}`, text);
  }
}

const stripByteOrderMark = (line: Buffer): Buffer =>
  line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? line.subarray(3) : line;

const isBlank = (line: Buffer): boolean =>
  line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
