import Papa from "papaparse";

/** One record of a file: the line it begins on, counted from 1, and its cells. */
export interface CsvRecord {
  readonly line: number;
  readonly cells: readonly string[];
  /** Why the cells can't be separated; absent in a well-formed record. */
  readonly fault?: string;
}

/** What the parser returns for each record; the package's types say `any`. */
interface Parsed {
  readonly data: readonly (readonly string[])[];
  readonly errors: readonly { readonly code: string; readonly message: string }[];
  readonly meta: { readonly cursor: number };
}

/** Characters of one record; without a limit a quote that is never closed would hold the whole file. */
const recordLimit = 8 * 1_048_576;

/**
 * Reads CSV (RFC 4180: commas, quotes doubled within quotes, CRLF or LF) as it arrives, piece by piece.
 * Empty lines are no records.
 */
export class CsvReader {
  #pending = "";
  #line = 1;

  /** The records that are complete. @throws RangeError a record is longer than 8 Mi characters. */
  read(piece: string): readonly CsvRecord[] {
    const records = this.#parse(this.#pending + piece, { isEnd: false });
    if (this.#pending.length > recordLimit) {
      throw new RangeError(
        `line ${this.#line}: a record of more than 8 Mi characters; is a quote open?`,
      );
    }
    return records;
  }

  /** The last record, which may have no line end. @throws RangeError a quote is open. */
  end(): readonly CsvRecord[] {
    return this.#parse(this.#pending, { isEnd: true });
  }

  /** Takes the records off `text`; what is left waits for the next piece. */
  #parse(text: string, { isEnd }: { readonly isEnd: boolean }): readonly CsvRecord[] {
    const records: CsvRecord[] = [];
    let from = 0;
    const onRecord = ({ data: [cells = []], errors, meta: { cursor } }: Parsed): void => {
      if (errors.some(({ code }) => code === "MissingQuotes")) {
        throw new RangeError(`line ${this.#line}: a quote is open until the end of the file`);
      }
      const record = text.slice(from, cursor);
      from = cursor;
      if (!/^\r?\n?$/.test(record)) {
        const [error] = errors;
        records.push({
          line: this.#line,
          cells: withoutReturn(cells, record).map(withoutMark),
          ...(error === undefined ? {} : { fault: error.message }),
        });
      }
      this.#line += record.split("\n").length - 1;
    };
    // The line end is LF: a file may mix both, and the parser takes a CR behind a quote for a blank.
    const config = { delimiter: ",", newline: "\n", step: onRecord } as const;
    new Papa.Parser(config).parse(text, 0, !isEnd);
    this.#pending = isEnd ? "" : text.slice(from);
    return records;
  }
}

/** The CR of a line end stays with a last cell that has no quotes. */
function withoutReturn(cells: readonly string[], record: string): readonly string[] {
  const last = cells.at(-1);
  return last?.endsWith("\r") === true && !/"\r?\n?$/.test(record)
    ? [...cells.slice(0, -1), last.slice(0, -1)]
    : cells;
}

/** Exports put an apostrophe before what a spreadsheet would take for a formula (`escapeFormula` of millrace/model). */
const withoutMark = (cell: string): string => (/^'+[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell);
