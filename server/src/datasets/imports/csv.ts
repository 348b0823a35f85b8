import Papa from "papaparse";
import { RequestError } from "../../model/errors.ts";
import { serverLimits } from "../../model/options.ts";

/** Consecutive rows of a CSV file. The first row of the file contains the names of the columns. */
export interface CsvPage {
  readonly rows: readonly (readonly string[])[];
  /** The number of the first of these rows. Row 1 is the header row, as in a spreadsheet. */
  readonly firstRow: number;
}

/** The result of Papa Parse, whose own type for it is `any`. */
interface PapaResult {
  readonly data: readonly (readonly string[])[];
  readonly errors: readonly { readonly message: string; readonly row: number }[];
  readonly meta: { readonly cursor: number };
}

/**
 * Parses a CSV file as its bytes arrive. The file must be UTF-8, with or without a byte order mark, and its cells must
 * be separated by commas. Quoted cells may contain commas, quotes and line breaks. Only the incomplete last row stays
 * in memory.
 *
 * @throws RequestError 422: the bytes are not UTF-8, or quotes do not match. 413: a row is too long.
 */
export async function* readCsv(chunks: AsyncIterable<Buffer>): AsyncGenerator<CsvPage> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let incompleteRow = "";
  let lineBreak: "\n" | "\r\n" | "\r" | undefined;
  let firstRow = 1;
  const parseText = (text: string, isLast: boolean): CsvPage => {
    lineBreak ??= detectLineBreak(text);
    const parser = new Papa.Parser({ delimiter: ",", newline: lineBreak });
    const { data, errors, meta } = parser.parse(text, 0, !isLast) as PapaResult;
    // Ignore errors in the incomplete last row, which is parsed again when more of it has arrived.
    const parseError = errors.find(({ row }) => row < data.length);
    if (parseError !== undefined) {
      throw new RequestError(
        422,
        `row ${firstRow + parseError.row} of the CSV: ${parseError.message}`,
      );
    }
    incompleteRow = isLast ? "" : text.slice(meta.cursor);
    const page = { rows: data, firstRow };
    firstRow += data.length;
    return page;
  };
  for await (const chunk of chunks) {
    const page = parseText(incompleteRow + decodeChunk(decoder, chunk), false);
    if (incompleteRow.length > serverLimits.csvRowChars) {
      throw new RequestError(
        413,
        `row ${firstRow} of the CSV is longer than ${serverLimits.csvRowChars} characters; is a quote missing?`,
      );
    }
    yield page;
  }
  const lastText = incompleteRow + decodeChunk(decoder);
  if (lastText !== "") {
    yield parseText(lastText, true);
  }
}

/** Decodes a chunk of a file. Without a chunk, checks that the file does not end with an incomplete character. */
function decodeChunk(decoder: InstanceType<typeof TextDecoder>, chunk?: Buffer): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch {
    throw new RequestError(422, "the CSV is not UTF-8: save it in that encoding");
  }
}

/** Returns the line break that the file uses: the first one outside quotes. */
function detectLineBreak(text: string): "\n" | "\r\n" | "\r" {
  const [firstLineBreak = "\n"] = /\r\n|\n|\r/.exec(text.replaceAll(/"[^"]*"/g, "")) ?? [];
  return firstLineBreak === "\r\n" || firstLineBreak === "\r" ? firstLineBreak : "\n";
}
