/** One record of a file: the line it begins on, counted from 1, and its cells. */
export interface CsvRecord {
  readonly line: number;
  readonly cells: readonly string[];
}

/** Characters of one record; a quote that nobody closes would swallow the file. */
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
    const text = this.#pending + piece;
    const records: CsvRecord[] = [];
    let from = 0;
    let isQuoted = false;
    for (let at = 0; at < text.length; at += 1) {
      const character = text[at];
      if (character === '"') {
        isQuoted = !isQuoted;
      } else if (character === "\n" && !isQuoted) {
        this.#take(text.slice(from, at), records);
        from = at + 1;
      }
    }
    this.#pending = text.slice(from);
    if (this.#pending.length > recordLimit) {
      throw new RangeError(
        `line ${this.#line}: a record of more than 8 Mi characters; is a quote open?`,
      );
    }
    return records;
  }

  /** The last record, which may have no line end. @throws RangeError a quote is open. */
  end(): readonly CsvRecord[] {
    const records: CsvRecord[] = [];
    const last = this.#pending;
    if ((last.split('"').length - 1) % 2 === 1) {
      throw new RangeError(`line ${this.#line}: a quote is open until the end of the file`);
    }
    this.#pending = "";
    this.#take(last, records);
    return records;
  }

  #take(text: string, records: CsvRecord[]): void {
    const own = text.endsWith("\r") ? text.slice(0, -1) : text;
    if (own !== "") {
      records.push({ line: this.#line, cells: toCells(own) });
    }
    this.#line += text.split("\n").length;
  }
}

function toCells(record: string): string[] {
  const cells: string[] = [];
  let cell = "";
  let isQuoted = false;
  for (let at = 0; at < record.length; at += 1) {
    const character = record[at] ?? "";
    if (character === '"') {
      // Doubled within quotes it is itself.
      const isDoubled: boolean = isQuoted && record[at + 1] === '"';
      cell += isDoubled ? '"' : "";
      at += isDoubled ? 1 : 0;
      isQuoted = isDoubled ? isQuoted : !isQuoted;
    } else if (character === "," && !isQuoted) {
      cells.push(cell);
      cell = "";
    } else {
      cell += character;
    }
  }
  return [...cells, cell].map(withoutMark);
}

/** Exports put an apostrophe before what a spreadsheet would take for a formula (`escapeFormula` of millrace/model). */
const withoutMark = (cell: string): string => (/^'+[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell);
