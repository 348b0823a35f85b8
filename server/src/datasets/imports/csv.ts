import Papa from "papaparse";
import { RequestError } from "../../model/errors.ts";
import { serverLimits } from "../../model/options.ts";

/** Rows of a CSV file, some at a time. The first one is its head. */
export interface CsvPage {
  readonly rows: readonly (readonly string[])[];
  /** Of the first of them, as a spreadsheet counts: the head is row 1. */
  readonly firstRow: number;
}

/** What Papa's parser answers; its types say `any`. */
interface Parsed {
  readonly data: readonly (readonly string[])[];
  readonly errors: readonly { readonly message: string; readonly row: number }[];
  readonly meta: { readonly cursor: number };
}

/**
 * The rows of a CSV file, as its bytes arrive: UTF-8 with or without a mark, commas, fields in quotes
 * that hold commas, quotes and line ends. Only the row that is not yet complete is kept.
 *
 * @throws RequestError 422: the bytes are not UTF-8, quotes do not match. 413: a row is too long.
 */
export async function* readCsv(chunks: AsyncIterable<Buffer>): AsyncGenerator<CsvPage> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let rest = "";
  let newline: "\n" | "\r\n" | "\r" | undefined;
  let firstRow = 1;
  const parse = (text: string, isLast: boolean): CsvPage => {
    newline ??= guessNewline(text);
    const parser = new Papa.Parser({ delimiter: ",", newline });
    const { data, errors, meta } = parser.parse(text, 0, !isLast) as Parsed;
    // Faults of the row that is not complete may be no faults: it is read again.
    const fault = errors.find(({ row }) => row < data.length);
    if (fault !== undefined) {
      throw new RequestError(422, `row ${firstRow + fault.row} of the CSV: ${fault.message}`);
    }
    rest = isLast ? "" : text.slice(meta.cursor);
    const page = { rows: data, firstRow };
    firstRow += data.length;
    return page;
  };
  for await (const chunk of chunks) {
    const page = parse(rest + decode(decoder, chunk), false);
    if (rest.length > serverLimits.csvRowChars) {
      throw new RequestError(
        413,
        `row ${firstRow} of the CSV is longer than ${serverLimits.csvRowChars} characters; is a quote missing?`,
      );
    }
    yield page;
  }
  const last = rest + decode(decoder);
  if (last !== "") {
    yield parse(last, true);
  }
}

/** Without bytes: what is left at the end. */
function decode(decoder: InstanceType<typeof TextDecoder>, chunk?: Buffer): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch {
    throw new RequestError(422, "the CSV is not UTF-8: save it in that encoding");
  }
}

/** The first line end that stands in no quotes. */
function guessNewline(text: string): "\n" | "\r\n" | "\r" {
  const [found = "\n"] = /\r\n|\n|\r/.exec(text.replaceAll(/"[^"]*"/g, "")) ?? [];
  return found === "\r\n" || found === "\r" ? found : "\n";
}
