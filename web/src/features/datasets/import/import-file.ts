import { CsvReader } from "./csv-records.ts";
import { guessTarget, toCsvRow, toJsonRow } from "./import-rows.ts";
import type { FileShape, ImportRow } from "./import-rows.ts";

/** A parsed row of a file, or the reason why the row can't be parsed. */
export type FileRow =
  | {
      readonly kind: "row";
      readonly line: number;
      readonly row: ImportRow;
      /** The CSV cells from which `row` was built; absent in a JSONL file. */
      readonly cells?: readonly string[];
    }
  | { readonly kind: "fault"; readonly line: number; readonly reason: string };

/** The format and the first rows of a file, shown before the import. */
export interface FilePreview {
  readonly shape: FileShape;
  readonly rows: readonly FileRow[];
}

const previewBytes = 256 * 1_024;
const previewRows = 20;

/**
 * Reads the first rows of a file. Detects its format from the file name and the content, and maps CSV
 * columns to parts of an example by their names.
 *
 * @throws RangeError the file is empty, its first record is malformed or too long, or two columns have the same name.
 * @throws TypeError the file is not UTF-8.
 */
export async function previewFile(file: File): Promise<FilePreview> {
  const text = await readText(file.slice(0, previewBytes));
  if (text.trim() === "") {
    throw new RangeError("the file is empty");
  }
  const isCompleteFile = file.size <= previewBytes;
  const shape = detectShape(file, text, isCompleteFile);
  const reader = new RowReader(shape);
  const rows = [...reader.read(text), ...(isCompleteFile ? reader.finish() : [])];
  return { shape, rows: rows.slice(0, previewRows) };
}

/** Decodes the beginning of a file. With the option `stream`, a character that is cut off at the end is ignored. */
async function readText(blob: Blob): Promise<string> {
  const bytes = await blob.arrayBuffer();
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
  } catch (cause) {
    throw new TypeError("the file is not UTF-8 text", { cause });
  }
}

function detectShape({ name }: File, text: string, isCompleteFile: boolean): FileShape {
  if (/\.(jsonl|ndjson)$/i.test(name) || (!/\.csv$/i.test(name) && text.trimStart()[0] === "{")) {
    return { kind: "jsonl" };
  }
  const reader = new CsvReader();
  const [header] = [...reader.read(text), ...(isCompleteFile ? reader.finish() : [])];
  if (header === undefined && !isCompleteFile) {
    throw new RangeError(`line 1: the header is longer than ${previewBytes / 1_024} KiB`);
  }
  if (header?.fault !== undefined) {
    throw new RangeError(`line ${header.line}: ${header.fault}`);
  }
  const columns = header?.cells ?? [];
  const duplicateName = columns.find((column, index) => columns.indexOf(column) !== index);
  if (duplicateName !== undefined) {
    throw new RangeError(`two columns are named ${JSON.stringify(duplicateName)}`);
  }
  return { kind: "csv", columns, targets: columns.map(guessTarget) };
}

/** Parses the text of a file into rows, chunk by chunk. */
export class RowReader {
  readonly #shape: FileShape;
  readonly #csv = new CsvReader();
  #incompleteLine = "";
  #line = 1;
  #isAtHeader = true;

  constructor(shape: FileShape) {
    this.#shape = shape;
  }

  read(chunk: string): readonly FileRow[] {
    return this.#shape.kind === "csv"
      ? this.#readCsv(this.#csv.read(chunk))
      : this.#readLines(chunk);
  }

  finish(): readonly FileRow[] {
    return this.#shape.kind === "csv" ? this.#readCsv(this.#csv.finish()) : this.#readLines("\n");
  }

  #readCsv(records: ReturnType<CsvReader["read"]>): readonly FileRow[] {
    const csvShape = this.#shape.kind === "csv" ? this.#shape : emptyCsvShape;
    const rows = this.#isAtHeader ? records.slice(1) : records;
    this.#isAtHeader &&= records.length === 0;
    return rows.map(({ line, cells, fault }) => {
      if (fault !== undefined) {
        return { kind: "fault", line, reason: fault };
      }
      const row = tryParseRow(line, () => toCsvRow(cells, csvShape));
      return row.kind === "row" ? { ...row, cells } : row;
    });
  }

  #readLines(chunk: string): readonly FileRow[] {
    const lines = (this.#incompleteLine + chunk).split("\n");
    this.#incompleteLine = lines.pop() ?? "";
    const firstLine = this.#line;
    this.#line += lines.length;
    return lines.flatMap((text, index) =>
      text.trim() === "" ? [] : [tryParseRow(firstLine + index, () => toJsonRow(text))],
    );
  }
}

const emptyCsvShape = { kind: "csv", columns: [], targets: [] } as const;

function tryParseRow(line: number, toRow: () => ImportRow): FileRow {
  try {
    return { kind: "row", line, row: toRow() };
  } catch (cause) {
    return { kind: "fault", line, reason: cause instanceof Error ? cause.message : String(cause) };
  }
}
