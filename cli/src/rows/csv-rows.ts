import { unescapeFormula } from "millrace/model";
import { UsageError } from "../usage-error.ts";
import { messageOf } from "./byte-source.ts";
import type { ByteSource } from "./byte-source.ts";
import { csvLines } from "./csv-lines.ts";
import type { CsvLine } from "./csv-lines.ts";
import { inferType, parseCell } from "./csv-types.ts";
import type { CsvType } from "./csv-types.ts";
import { BadRow, SourceError } from "./source-row.ts";
import type { RowSource, SourceRow } from "./source-row.ts";

export interface CsvOptions {
  readonly delimiter: string;
  /** Types of some of these columns; those of the others follow from what is in the first thousand rows. */
  readonly types: (columns: readonly string[]) => ReadonlyMap<string, CsvType>;
}

/** So many rows say what the type of a column is, or fewer where they are long. */
const sampleRows = 1_000;
const sampleChars = 4_194_304;

interface Column {
  readonly name: string;
  readonly type: CsvType;
  readonly isGiven: boolean;
}

/** A source in CSV, whose first row names the columns. @throws {@link SourceError} it has none, or two of one name. */
export async function openCsv(
  { bytes, fraction }: ByteSource,
  { delimiter, types: typesOf }: CsvOptions,
): Promise<RowSource> {
  const parts = csvLines(bytes, delimiter);
  const sample: CsvLine[] = [];
  let chars = 0;
  let isMore = true;
  while (isMore && sample.length <= sampleRows && chars < sampleChars) {
    const step = await parts.next();
    isMore = step.done !== true;
    for (const line of step.done === true ? [] : step.value) {
      sample.push(line);
      chars += line.cells.reduce((sum, cell) => sum + cell.length, 0);
    }
  }
  const [head, ...first] = sample;
  if (head === undefined) {
    throw new SourceError("the file is empty: its first row names the columns");
  }
  const names = namesOf(head);
  const types = typesOf(names);
  for (const name of types.keys()) {
    if (!names.includes(name)) {
      throw new UsageError(
        `there is no column ${name} to give a type to; there are ${names.join(", ")}`,
      );
    }
  }
  const columns = names.map((name, index): Column => {
    const given = types.get(name);
    const cells = first
      .slice(0, sampleRows)
      .map((line) => unescapeFormula(line.cells[index] ?? ""));
    return { name, type: given ?? inferType(cells), isGiven: given !== undefined };
  });
  const rows = async function* rows(): AsyncGenerator<SourceRow | BadRow> {
    for (const line of first) {
      yield toRow(line, columns);
    }
    for await (const part of parts) {
      for (const line of part) {
        yield toRow(line, columns);
      }
    }
  };
  const close = async (): Promise<void> => void (await parts.return(undefined));
  return { columns: names, rows: rows(), fraction, close };
}

function namesOf({ cells, fault }: CsvLine): readonly string[] {
  const twice = cells.find((cell, index) => cells.indexOf(cell) !== index);
  const nameless = cells.findIndex((cell) => cell === "");
  if (fault !== undefined || twice !== undefined || nameless !== -1) {
    const why =
      twice === undefined
        ? `column ${nameless + 1} has no name`
        : `two columns are called ${twice}`;
    throw new SourceError(`the first row does not name the columns: ${fault ?? why}`);
  }
  return cells.map(unescapeFormula);
}

function toRow({ cells, fault }: CsvLine, columns: readonly Column[]): SourceRow | BadRow {
  const isOdd = cells.length !== columns.length;
  const reason =
    fault ??
    (isOdd && `the row has ${cells.length} cells, and ${columns.length} columns have names`);
  if (reason !== false) {
    return new BadRow(reason, JSON.stringify(cells));
  }
  const row: Record<string, unknown> = {};
  for (const [index, { name, type, isGiven }] of columns.entries()) {
    try {
      const value = parseCell(type, unescapeFormula(cells[index] ?? ""));
      if (value !== undefined) {
        row[name] = value;
      }
    } catch (cause) {
      const hint = isGiven
        ? ""
        : `, as the rows before have it; --types ${name}:text takes it as it is`;
      return new BadRow(`column ${name}: ${messageOf(cause)}${hint}`, JSON.stringify(cells));
    }
  }
  return row;
}
