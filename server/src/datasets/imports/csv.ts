import Papa from "papaparse";
import { RequestError } from "../../model/errors.ts";
import { serverLimits } from "../../model/options.ts";

/** A group of consecutive rows of a CSV file. The first row of the file is the header. */
export interface CsvPage {
  readonly rows: readonly (readonly string[])[];
  /** The number of the first row, as a spreadsheet counts: the header is row 1. */
  readonly firstRow: number;
}

/** What Papa's parser returns; its types say `any`. */
interface Parsed {
  readonly data: readonly (readonly string[])[];
  readonly errors: readonly { readonly message: string; readonly row: number }[];
  readonly meta: { readonly cursor: number };
}

/**
 * Parses a CSV file as its bytes arrive: UTF-8 with or without a byte order mark, commas, and quoted fields that may
 * contain commas, quotes and line breaks. Only the incomplete last row is kept in memory.
 *
 * @throws RequestError 422: the bytes are not UTF-8, or quotes do not match. 413: a row is too long.
 */
export async function* readCsv(chunks: AsyncIterable<Buffer>): AsyncGenerator<CsvPage> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let incompleteRow = "";
  let newline: "\n" | "\r\n" | "\r" | undefined;
  let firstRow = 1;
  const parse = (text: string, isLast: boolean): CsvPage => {
    newline ??= detectNewline(text);
    const parser = new Papa.Parser({ delimiter: ",", newline });
    const { data, errors, meta } = parser.parse(text, 0, !isLast) as Parsed;
    // Ignore errors in the incomplete row: it is parsed again with its remainder.
    const fault = errors.find(({ row }) => row < data.length);
    if (fault !== undefined) {
      throw new RequestError(422, `row ${firstRow + fault.row} of the CSV: ${fault.message}`);
    }
    incompleteRow = isLast ? "" : text.slice(meta.cursor);
    const page = { rows: data, firstRow };
    firstRow += data.length;
    return page;
  };
  for await (const chunk of chunks) {
    const page = parse(incompleteRow + decode(decoder, chunk), false);
    if (incompleteRow.length > serverLimits.csvRowChars) {
      throw new RequestError(
        413,
        `row ${firstRow} of the CSV is longer than ${serverLimits.csvRowChars} characters; is a quote missing?`,
      );
    }
    yield page;
  }
  const last = incompleteRow + decode(decoder);
  if (last !== "") {
    yield parse(last, true);
  }
}

/** Decodes a chunk; without one, flushes the decoder. */
function decode(decoder: InstanceType<typeof TextDecoder>, chunk?: Buffer): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch {
    throw new RequestError(422, "the CSV is not UTF-8: save it in that encoding");
  }
}

/** The first line break outside quotes. */
function detectNewline(text: string): "\n" | "\r\n" | "\r" {
  const [found = "\n"] = /\r\n|\n|\r/.exec(text.replaceAll(/"[^"]*"/g, "")) ?? [];
  return found === "\r\n" || found === "\r" ? found : "\n";
}
