import { isUtf8 } from "node:buffer";
import { readErrorMessage } from "./byte-source.ts";
import type { ByteSource } from "./byte-source.ts";
import { BadRow, maxRowLength } from "./source-row.ts";
import type { RowSource, SourceRow } from "./source-row.ts";

/** Opens a source with one JSON object per line. Blank lines are skipped. */
export const openJsonLines = ({ bytes, getFractionRead }: ByteSource): RowSource => ({
  columns: undefined,
  rows: readRows(bytes),
  getFractionRead,
  close: async () => undefined,
});

async function* readRows(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<SourceRow | BadRow> {
  let isFirst = true;
  for await (const line of splitLines(bytes)) {
    const strippedLine = isFirst && line instanceof Buffer ? stripByteOrderMark(line) : line;
    isFirst = false;
    if (strippedLine instanceof BadRow) {
      yield strippedLine;
    } else if (!isBlank(strippedLine)) {
      yield parseLine(strippedLine);
    }
  }
}

const newline = 0x0a;

/**
 * Splits bytes into lines, without their line ends. A line that is longer than {@link maxRowLength} is yielded as
 * a {@link BadRow}.
 */
async function* splitLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer | BadRow> {
  let lineParts: Buffer[] = [];
  let lineBytes = 0;
  const finishLine = (): Buffer | BadRow => {
    const line =
      lineParts.length === 1 && lineParts[0] !== undefined
        ? lineParts[0]
        : Buffer.concat(lineParts);
    const isTooLong = lineBytes > maxRowLength;
    lineParts = [];
    lineBytes = 0;
    return isTooLong
      ? new BadRow(`the line is longer than ${maxRowLength} bytes`, line.toString("utf8", 0, 1_000))
      : line;
  };
  const appendToLine = (part: Buffer): void => {
    lineBytes += part.length;
    if (lineBytes <= maxRowLength) {
      lineParts.push(part);
    } else {
      lineParts.splice(1);
    }
  };
  for await (const view of bytes) {
    const chunk = Buffer.from(view.buffer, view.byteOffset, view.byteLength);
    let lineStart = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, lineStart)) {
      appendToLine(chunk.subarray(lineStart, end));
      yield finishLine();
      lineStart = end + 1;
    }
    if (lineStart < chunk.length) {
      appendToLine(chunk.subarray(lineStart));
    }
  }
  if (lineBytes > 0) {
    yield finishLine();
  }
}

function parseLine(line: Buffer): SourceRow | BadRow {
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
    return new BadRow(`the line is not JSON: ${readErrorMessage(cause)}`, text);
  }
}

const stripByteOrderMark = (line: Buffer): Buffer =>
  line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? line.subarray(3) : line;

const isBlank = (line: Buffer): boolean =>
  line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
