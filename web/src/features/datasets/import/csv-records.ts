import Papa from "papaparse";

/** One record of a CSV file: its cells, and the line on which it begins, counted from 1. */
export interface CsvRecord {
  readonly line: number;
  readonly cells: readonly string[];
  /** Why the cells can't be separated; absent if the record is well-formed. */
  readonly fault?: string;
}

/** What Papa Parse, the CSV parser, returns for one record. The package declares the type of this result as `any`. */
interface PapaResult {
  readonly data: readonly (readonly string[])[];
  readonly errors: readonly { readonly code: string; readonly message: string }[];
  readonly meta: { readonly cursor: number };
}

/**
 * The maximum length of a record, in characters. Without this limit, a missing closing quote would make the reader
 * buffer the whole file.
 */
const maxRecordChars = 8 * 1_048_576;

/**
 * Parses CSV chunk by chunk as the file is read, and skips empty lines. The format is that of RFC 4180: cells are
 * separated by commas, quotes inside quoted cells are doubled, and lines end with CRLF or LF.
 */
export class CsvReader {
  #incompleteRecord = "";
  #line = 1;

  /** Returns the records that `chunk` completes. @throws RangeError a record is longer than 8 Mi characters. */
  read(chunk: string): readonly CsvRecord[] {
    const records = this.#parse(this.#incompleteRecord + chunk, { isEnd: false });
    if (this.#incompleteRecord.length > maxRecordChars) {
      throw new RangeError(
        `line ${this.#line}: the record is longer than 8 Mi characters; check for a quote that is not closed`,
      );
    }
    return records;
  }

  /** Returns the last record, which may lack a line end. @throws RangeError a quote is not closed. */
  finish(): readonly CsvRecord[] {
    return this.#parse(this.#incompleteRecord, { isEnd: true });
  }

  /** Parses the complete records of `text`. The next chunk is appended to the incomplete last record. */
  #parse(text: string, { isEnd }: { readonly isEnd: boolean }): readonly CsvRecord[] {
    const records: CsvRecord[] = [];
    let recordStart = 0;
    const onRecord = ({ data: [cells = []], errors, meta: { cursor } }: PapaResult): void => {
      if (errors.some(({ code }) => code === "MissingQuotes")) {
        throw new RangeError(
          `line ${this.#line}: a quote is not closed before the end of the file`,
        );
      }
      const record = text.slice(recordStart, cursor);
      recordStart = cursor;
      if (!/^\r?\n?$/.test(record)) {
        const [error] = errors;
        records.push({
          line: this.#line,
          cells: removeTrailingReturn(cells, record).map(removeFormulaEscape),
          ...(error === undefined ? {} : { fault: error.message }),
        });
      }
      this.#line += record.split("\n").length - 1;
    };
    // Separate lines at LF, because a file may contain both CRLF and LF. The parser treats a CR after a closing quote
    // as space.
    const config = { delimiter: ",", newline: "\n", step: onRecord } as const;
    new Papa.Parser(config).parse(text, 0, !isEnd);
    this.#incompleteRecord = isEnd ? "" : text.slice(recordStart);
    return records;
  }
}

/** Removes the CR of a CRLF line end. The parser leaves it in the last cell if that cell is not quoted. */
function removeTrailingReturn(cells: readonly string[], record: string): readonly string[] {
  const lastCell = cells.at(-1);
  return lastCell?.endsWith("\r") === true && !/"\r?\n?$/.test(record)
    ? [...cells.slice(0, -1), lastCell.slice(0, -1)]
    : cells;
}

/**
 * Removes the apostrophe that CSV exports of this server add to a cell if a spreadsheet would evaluate it as a
 * formula (see `escapeFormula` in millrace/model).
 */
const removeFormulaEscape = (cell: string): string =>
  /^'+[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell;
