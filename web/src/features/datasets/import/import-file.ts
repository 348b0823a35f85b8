import { CsvReader } from "./csv-records.ts";
import { guessTarget, toCsvRow, toJsonRow } from "./import-rows.ts";
import type { FileShape, ImportRow } from "./import-rows.ts";

/** A row of a file, or the reason why it can't be read. */
export type FileRow =
  | {
      readonly kind: "row";
      readonly line: number;
      readonly row: ImportRow;
      /** Of a CSV file: from which it was made. */
      readonly cells?: readonly string[];
    }
  | { readonly kind: "fault"; readonly line: number; readonly reason: string };

/** What a page shows of a file before it is taken in. */
export interface FilePreview {
  readonly shape: FileShape;
  readonly rows: readonly FileRow[];
}

const previewBytes = 262_144;
const previewRows = 20;

/**
 * The first rows of a file and how it is meant, by its name and by the names of its columns.
 *
 * @throws an error saying what is wrong with the file.
 */
export async function previewFile(file: File): Promise<FilePreview> {
  const text = await readText(file.slice(0, previewBytes));
  if (text.trim() === "") {
    throw new RangeError("the file is empty");
  }
  const isWhole = file.size <= previewBytes;
  const shape = findShape(file, text);
  const reader = new RowReader(shape);
  const rows = [...reader.read(text), ...(isWhole ? reader.end() : [])];
  return { shape, rows: rows.slice(0, previewRows) };
}

/** The beginning of a file: a letter of several bytes may be cut at its end. */
async function readText(part: Blob): Promise<string> {
  const bytes = await part.arrayBuffer();
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
  } catch (cause) {
    throw new TypeError("the file is not UTF-8 text", { cause });
  }
}

function findShape({ name }: File, text: string): FileShape {
  if (/\.(jsonl|ndjson)$/i.test(name) || (!/\.csv$/i.test(name) && text.trimStart()[0] === "{")) {
    return { kind: "jsonl" };
  }
  const reader = new CsvReader();
  const [head] = [...reader.read(text), ...reader.end()];
  if (head?.fault !== undefined) {
    throw new RangeError(`line ${head.line}: ${head.fault}`);
  }
  const columns = head?.cells ?? [];
  const twice = columns.find((column, index) => columns.indexOf(column) !== index);
  if (twice !== undefined) {
    throw new RangeError(`two columns are called ${JSON.stringify(twice)}`);
  }
  return { kind: "csv", columns, targets: columns.map(guessTarget) };
}

/** Turns the text of a file into rows, piece by piece. */
export class RowReader {
  readonly #shape: FileShape;
  readonly #csv = new CsvReader();
  #pending = "";
  #line = 1;
  #isHead = true;

  constructor(shape: FileShape) {
    this.#shape = shape;
  }

  read(piece: string): readonly FileRow[] {
    return this.#shape.kind === "csv"
      ? this.#readCsv(this.#csv.read(piece))
      : this.#readLines(piece);
  }

  end(): readonly FileRow[] {
    return this.#shape.kind === "csv" ? this.#readCsv(this.#csv.end()) : this.#readLines("\n");
  }

  #readCsv(records: ReturnType<CsvReader["read"]>): readonly FileRow[] {
    const shape = this.#shape.kind === "csv" ? this.#shape : emptyShape;
    const rows = this.#isHead ? records.slice(1) : records;
    this.#isHead &&= records.length === 0;
    return rows.map(({ line, cells, fault }) => {
      if (fault !== undefined) {
        return { kind: "fault", line, reason: fault };
      }
      const row = attempt(line, () => toCsvRow(cells, shape));
      return row.kind === "row" ? { ...row, cells } : row;
    });
  }

  #readLines(piece: string): readonly FileRow[] {
    const lines = (this.#pending + piece).split("\n");
    this.#pending = lines.pop() ?? "";
    const first = this.#line;
    this.#line += lines.length;
    return lines.flatMap((text, index) =>
      text.trim() === "" ? [] : [attempt(first + index, () => toJsonRow(text))],
    );
  }
}

const emptyShape = { kind: "csv", columns: [], targets: [] } as const;

function attempt(line: number, toRow: () => ImportRow): FileRow {
  try {
    return { kind: "row", line, row: toRow() };
  } catch (cause) {
    return { kind: "fault", line, reason: cause instanceof Error ? cause.message : String(cause) };
  }
}
