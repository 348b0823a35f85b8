import Papa from "papaparse";
import { SourceError, maxRowLength } from "./source-row.ts";

/** The cells of one row, and the parser's error message if the row is malformed. */
export interface CsvLine {
  readonly cells: readonly string[];
  readonly errorMessage?: string;
}

interface PapaResult {
  readonly data: readonly (readonly string[])[];
  readonly errors: readonly { readonly row?: number; readonly message: string }[];
  readonly meta: { readonly cursor: number };
}

/**
 * Parses a CSV stream. After each chunk of bytes, yields the rows that this chunk completed. Blank lines are skipped.
 *
 * @throws {@link SourceError} if the text is not UTF-8, or a row is too long.
 */
export async function* parseCsvLines(
  bytes: AsyncIterable<Uint8Array>,
  delimiter: string,
): AsyncGenerator<readonly CsvLine[]> {
  // The decoder also removes a byte order mark.
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const decode = (chunk?: Uint8Array): string => {
    try {
      return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
    } catch (cause) {
      throw new SourceError("the file is not UTF-8", { cause });
    }
  };
  let text = "";
  let minParseLength = 0;
  let parser: Papa.Parser | undefined;
  const parseBuffered = (isEnd: boolean): readonly CsvLine[] => {
    parser ??= new Papa.Parser({ delimiter, newline: detectNewline(text) });
    const { data, errors, meta } = parser.parse(text, 0, !isEnd) as PapaResult;
    if (meta.cursor === 0 && !isEnd) {
      // The row is incomplete. Parse again once the text is twice as long, so that the total work stays linear.
      minParseLength = text.length * 2;
    } else {
      text = text.slice(meta.cursor);
      minParseLength = 0;
    }
    const errorMessagesByRow = new Map(errors.map(({ row = 0, message }) => [row, message]));
    return data.flatMap((cells, index) => toLine(cells, errorMessagesByRow.get(index)));
  };
  for await (const chunk of bytes) {
    text += decode(chunk);
    // A trailing CR may be the first half of a line end.
    if (text.length >= minParseLength && !(parser === undefined && text.endsWith("\r"))) {
      yield parseBuffered(false);
    }
    if (text.length > maxRowLength) {
      throw new SourceError(
        `a row has more than ${maxRowLength} characters: check for a quote that is not closed, and for another delimiter`,
      );
    }
  }
  text += decode();
  if (text !== "") {
    yield parseBuffered(true);
  }
}

const toLine = (cells: readonly string[], errorMessage: string | undefined): CsvLine[] => {
  if (errorMessage !== undefined) {
    return [{ cells, errorMessage }];
  }
  return cells.length === 1 && cells[0] === "" ? [] : [{ cells }];
};

/** Detects which line ending the file uses, from the first line ending outside of quotes. */
function detectNewline(text: string): "\n" | "\r\n" | "\r" {
  let isQuoted = false;
  for (let index = 0; index < Math.min(text.length, 1_000_000); index++) {
    const char = text[index];
    if (char === '"') {
      isQuoted = !isQuoted;
    } else if (!isQuoted && char === "\n") {
      return "\n";
    } else if (!isQuoted && char === "\r") {
      return text[index + 1] === "\n" ? "\r\n" : "\r";
    }
  }
  return "\n";
}
