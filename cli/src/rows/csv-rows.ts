import { unescapeFormula } from "millrace/model";
import { UsageError } from "../usage-error.ts";
import { readErrorMessage } from "./byte-source.ts";
import type { ByteSource } from "./byte-source.ts";
import { parseCsvLines } from "./csv-lines.ts";
import type { CsvLine } from "./csv-lines.ts";
import { inferType, parseCell } from "./csv-types.ts";
import type { CsvType } from "./csv-types.ts";
import { BadRow, SourceError } from "./source-row.ts";
import type { RowSource, SourceRow } from "./source-row.ts";

/** How a CSV file is read. */
export interface CsvOptions {
  readonly delimiter: string;
  /** Returns the types of some columns. The types of the other columns are inferred from the first thousand rows. */
  readonly chooseTypes: (columns: readonly string[]) => ReadonlyMap<string, CsvType>;
}

/** Maximum number of rows, from the beginning of the file, from which the column types are inferred. */
const maxSampleRows = 1_000;
/** Number of characters after which no more rows are read for inferring the column types. */
const maxSampleChars = 4_194_304;

interface Column {
  readonly name: string;
  readonly type: CsvType;
  readonly hasExplicitType: boolean;
}

/**
 * Opens a CSV source, whose first row contains the column names.
 *
 * @throws {@link SourceError} if a column has no name, or two columns have the same name.
 */
export async function openCsv(
  { bytes, getFractionRead }: ByteSource,
  { delimiter, chooseTypes }: CsvOptions,
): Promise<RowSource> {
  const lineBatches = parseCsvLines(bytes, delimiter);
  const sampleLines: CsvLine[] = [];
  let charCount = 0;
  let hasMore = true;
  while (hasMore && sampleLines.length <= maxSampleRows && charCount < maxSampleChars) {
    const next = await lineBatches.next();
    hasMore = next.done !== true;
    for (const line of next.done === true ? [] : next.value) {
      sampleLines.push(line);
      charCount += line.cells.reduce((sum, cell) => sum + cell.length, 0);
    }
  }
  const [header, ...firstRows] = sampleLines;
  if (header === undefined) {
    throw new SourceError("the file is empty; its first row must contain the column names");
  }
  const names = parseColumnNames(header);
  const types = chooseTypes(names);
  for (const name of types.keys()) {
    if (!names.includes(name)) {
      throw new UsageError(
        `there is no column ${name} to set the type of; the columns are ${names.join(", ")}`,
      );
    }
  }
  const columns = names.map((name, index): Column => {
    const explicitType = types.get(name);
    const cells = firstRows
      .slice(0, maxSampleRows)
      .map((line) => unescapeFormula(line.cells[index] ?? ""));
    return {
      name,
      type: explicitType ?? inferType(cells),
      hasExplicitType: explicitType !== undefined,
    };
  });
  const readRows = async function* readRows(): AsyncGenerator<SourceRow | BadRow> {
    for (const line of firstRows) {
      yield toRow(line, columns);
    }
    for await (const lines of lineBatches) {
      for (const line of lines) {
        yield toRow(line, columns);
      }
    }
  };
  const close = async (): Promise<void> => void (await lineBatches.return(undefined));
  return { columns: names, rows: readRows(), getFractionRead, close };
}

function parseColumnNames({ cells, errorMessage }: CsvLine): readonly string[] {
  const duplicate = cells.find((cell, index) => cells.indexOf(cell) !== index);
  const namelessIndex = cells.findIndex((cell) => cell === "");
  if (errorMessage !== undefined || duplicate !== undefined || namelessIndex !== -1) {
    const reason =
      duplicate === undefined
        ? `column ${namelessIndex + 1} has no name`
        : `two columns are named ${duplicate}`;
    throw new SourceError(
      `the first row does not contain valid column names: ${errorMessage ?? reason}`,
    );
  }
  return cells.map(unescapeFormula);
}

function toRow({ cells, errorMessage }: CsvLine, columns: readonly Column[]): SourceRow | BadRow {
  const hasWrongLength = cells.length !== columns.length;
  const reason =
    errorMessage ??
    (hasWrongLength &&
      `the row has ${cells.length} cells, but the first row names ${columns.length} columns`);
  if (reason !== false) {
    return new BadRow(reason, JSON.stringify(cells));
  }
  const row: Record<string, unknown> = {};
  for (const [index, { name, type, hasExplicitType }] of columns.entries()) {
    try {
      const value = parseCell(type, unescapeFormula(cells[index] ?? ""));
      if (value !== undefined) {
        row[name] = value;
      }
    } catch (cause) {
      const hint = hasExplicitType
        ? ""
        : `, the type inferred from earlier rows; pass --types ${name}:text to accept any text`;
      return new BadRow(`column ${name}: ${readErrorMessage(cause)}${hint}`, JSON.stringify(cells));
    }
  }
  return row;
}
