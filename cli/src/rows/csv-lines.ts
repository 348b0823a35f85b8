import Papa from "papaparse";
import { SourceError, rowLimit } from "./source-row.ts";

/** The cells of one row, or the reason why they can't be separated. */
export interface CsvLine {
  readonly cells: readonly string[];
  readonly fault?: string;
}

interface Parsed {
  readonly data: readonly (readonly string[])[];
  readonly errors: readonly { readonly row?: number; readonly message: string }[];
  readonly meta: { readonly cursor: number };
}

/** The rows of a CSV text, a part after the other; blank lines are no rows. @throws {@link SourceError} */
export async function* csvLines(
  bytes: AsyncIterable<Uint8Array>,
  delimiter: string,
): AsyncGenerator<readonly CsvLine[]> {
  // It also takes away a byte order mark.
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const decode = (part?: Uint8Array): string => {
    try {
      return part === undefined ? decoder.decode() : decoder.decode(part, { stream: true });
    } catch (cause) {
      throw new SourceError("the file is not UTF-8", { cause });
    }
  };
  let text = "";
  let wanted = 0;
  let parser: Papa.Parser | undefined;
  const take = (isEnd: boolean): readonly CsvLine[] => {
    parser ??= new Papa.Parser({ delimiter, newline: newlineOf(text) });
    const { data, errors, meta } = parser.parse(text, 0, !isEnd) as Parsed;
    if (meta.cursor === 0 && !isEnd) {
      // A row that is not whole yet is looked at again when there is twice as much of it.
      wanted = text.length * 2;
    } else {
      text = text.slice(meta.cursor);
      wanted = 0;
    }
    const faults = new Map(errors.map(({ row = 0, message }) => [row, message]));
    return data.flatMap((cells, index) => toLine(cells, faults.get(index)));
  };
  for await (const part of bytes) {
    text += decode(part);
    // A last CR may be half of a line's end.
    if (text.length >= wanted && !(parser === undefined && text.endsWith("\r"))) {
      yield take(false);
    }
    if (text.length > rowLimit) {
      throw new SourceError(
        `a row has more than ${rowLimit} characters: a quote that is not closed, or another delimiter?`,
      );
    }
  }
  text += decode();
  if (text !== "") {
    yield take(true);
  }
}

const toLine = (cells: readonly string[], fault: string | undefined): CsvLine[] => {
  if (fault !== undefined) {
    return [{ cells, fault }];
  }
  return cells.length === 1 && cells[0] === "" ? [] : [{ cells }];
};

/** What ends the first line, outside of quotes. */
function newlineOf(text: string): "\n" | "\r\n" | "\r" {
  let isQuoted = false;
  for (let at = 0; at < Math.min(text.length, 1_000_000); at++) {
    const char = text[at];
    if (char === '"') {
      isQuoted = !isQuoted;
    } else if (!isQuoted && char === "\n") {
      return "\n";
    } else if (!isQuoted && char === "\r") {
      return text[at + 1] === "\n" ? "\r\n" : "\r";
    }
  }
  return "\n";
}
