import { isUtf8 } from "node:buffer";
import { readErrorMessage } from "./byte-source.ts";
import type { ByteSource } from "./byte-source.ts";
import { BadRow, maxRowLength } from "./source-row.ts";
import type { RowSource, SourceRow } from "./source-row.ts";

/** Opens a source with one JSON object per line. Blank lines are skipped. */
export function openJsonLines({ bytes, getFractionRead }: ByteSource): RowSource {
  const warnings: string[] = [];
  return {
    columns: undefined,
    rows: readRows(bytes, warnings),
    warnings,
    getFractionRead,
    close: async () => undefined,
  };
}

async function* readRows(
  bytes: AsyncIterable<Uint8Array>,
  warnings: string[],
): AsyncGenerator<SourceRow | BadRow> {
  let isFirst = true;
  let row = 0;
  for await (const line of splitLines(bytes)) {
    const strippedLine = isFirst && line instanceof Buffer ? stripByteOrderMark(line) : line;
    isFirst = false;
    if (strippedLine instanceof BadRow) {
      yield strippedLine;
    } else if (!isBlank(strippedLine)) {
      row += 1;
      const rounded: string[] = [];
      yield parseLine(strippedLine, (number) => void rounded.push(number));
      const [number] = rounded;
      if (number !== undefined && warnings.length === 0) {
        warnings.push(
          `row ${row}, and possibly others: the number ${number} is uploaded as ${Number(number)}, because JavaScript can't represent integers beyond 2^53 exactly; write such numbers as strings`,
        );
      }
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

/** @param onRounded - called for each integer that JavaScript can't represent exactly */
function parseLine(line: Buffer, onRounded: (number: string) => void): SourceRow | BadRow {
  if (!isUtf8(line)) {
    return new BadRow("the line is not UTF-8", line.toString("latin1"));
  }
  const text = line.toString("utf8");
  try {
    const value: unknown = JSON.parse(text);
    for (const number of findNumbersIfLarge(text)) {
      if (!Number.isFinite(Number(number))) {
        return new BadRow(`the number ${number.slice(0, maxShownDigits)} is too large`, text);
      }
      if (/^-?\d+$/.test(number) && BigInt(number) !== BigInt(Number(number))) {
        onRounded(number);
      }
    }
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as SourceRow)
      : new BadRow("the line is not a JSON object", text);
  } catch (cause) {
    return new BadRow(`the line is not JSON: ${readErrorMessage(cause)}`, text);
  }
}

/** If a JSON text does not match, JavaScript can represent all of its numbers, although it may round fractions. */
const largeNumberPattern = /\d{16}|\d[eE]\+?\d{3}/;
const numberPattern = /-?\d[\d.eE+-]*/g;
const maxShownDigits = 40;

/** Yields all numbers in a JSON text, or none if all are small enough for JavaScript to represent. */
function* findNumbersIfLarge(json: string): Generator<string> {
  if (!largeNumberPattern.test(json)) {
    return;
  }
  for (let start = 0; start < json.length;) {
    const quote = json.indexOf('"', start);
    const end = quote === -1 ? json.length : quote;
    for (const [number] of json.slice(start, end).matchAll(numberPattern)) {
      yield number;
    }
    start = quote === -1 ? json.length : findStringEnd(json, quote);
  }
}

/** Returns the index after the closing quote of the string whose opening quote is at `quote`. */
function findStringEnd(json: string, quote: number): number {
  let end = json.indexOf('"', quote + 1);
  while (end !== -1 && isEscaped(json, end)) {
    end = json.indexOf('"', end + 1);
  }
  return end === -1 ? json.length : end + 1;
}

/** Whether an odd number of backslashes precedes a character. */
function isEscaped(json: string, index: number): boolean {
  let backslashes = 0;
  while (json[index - 1 - backslashes] === "\\") {
    backslashes += 1;
  }
  return backslashes % 2 === 1;
}

const stripByteOrderMark = (line: Buffer): Buffer =>
  line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? line.subarray(3) : line;

const isBlank = (line: Buffer): boolean =>
  line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
