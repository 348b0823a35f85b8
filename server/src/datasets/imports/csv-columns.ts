import { unescapeFormula } from "millrace/model";
import { addSplits } from "../examples/splits.ts";
import { RequestError } from "../../model/errors.ts";
import type { UploadRow } from "./upload.ts";

/** The columns of a CSV file that become inputs, outputs and metadata, as chosen in the upload form. */
export interface ColumnChoice {
  readonly inputs: readonly Column[];
  readonly outputs: readonly Column[];
  readonly metadata: readonly Column[];
}

/** A column of a CSV file that becomes a member of each example. */
export interface Column {
  /** The name of the column in the header row. */
  readonly header: string;
  /** The name of the member of the inputs, outputs or metadata. */
  readonly member: string;
}

/**
 * Converts the rows of a CSV file to examples. All values are strings. If a cell has the prefix that keeps spreadsheets
 * from evaluating it as a formula, the prefix is removed.
 */
export class CsvColumns {
  readonly #columnCount: number;
  readonly #inputs: readonly ColumnTarget[];
  readonly #outputs: readonly ColumnTarget[];
  readonly #metadata: readonly ColumnTarget[];

  /** @throws RequestError 422: the header row lacks a requested column, or has it twice. */
  constructor(headerCells: readonly string[], choice: ColumnChoice) {
    const header = headerCells.map(unescapeFormula);
    this.#columnCount = header.length;
    this.#inputs = findTargets(header, choice.inputs, "input_keys");
    this.#outputs = findTargets(header, choice.outputs, "output_keys");
    this.#metadata = findTargets(header, choice.metadata, "metadata_keys");
  }

  /**
   * Converts one row. Returns `undefined` for a blank line.
   *
   * @throws RequestError 422: the row has more or fewer cells than the header row.
   */
  toRow(cells: readonly string[], rowNumber: number): UploadRow | undefined {
    if (cells.length === 1 && cells[0] === "") {
      return undefined;
    }
    if (cells.length !== this.#columnCount) {
      throw new RequestError(
        422,
        `row ${rowNumber} of the CSV has ${cells.length} cells, but its header row has ${this.#columnCount}`,
      );
    }
    const metadata = this.#metadata.length === 0 ? null : toObjectJson(this.#metadata, cells);
    return {
      inputs: toObjectJson(this.#inputs, cells),
      outputs: this.#outputs.length === 0 ? null : toObjectJson(this.#outputs, cells),
      metadata: addSplits(metadata, undefined),
    };
  }
}

/** The position of a column in the CSV file, and the member of each example that its cells become. */
interface ColumnTarget {
  /** Index of the column in a row. */
  readonly index: number;
  /** The name of the member as JSON, followed by a colon. */
  readonly memberPrefix: string;
}

function findTargets(
  header: readonly string[],
  columns: readonly Column[],
  field: string,
): readonly ColumnTarget[] {
  if (new Set(columns.map(({ member }) => member)).size < columns.length) {
    throw new RequestError(
      422,
      `${field}: two columns would become the same member; map them to different names`,
    );
  }
  return columns.map(({ header: column, member }) => {
    const index = header.indexOf(column);
    if (index === -1) {
      const available = header.slice(0, 50).map((cell) => JSON.stringify(cell.slice(0, 80)));
      throw new RequestError(
        422,
        `the CSV has no column ${JSON.stringify(column)}, which ${field} names; its columns are ${available.join(", ")}`,
      );
    }
    if (header.indexOf(column, index + 1) !== -1) {
      throw new RequestError(
        422,
        `the CSV has the column ${JSON.stringify(column)} twice; rename one of them`,
      );
    }
    return { index, memberPrefix: `${JSON.stringify(member)}:` };
  });
}

const toObjectJson = (targets: readonly ColumnTarget[], cells: readonly string[]): string =>
  `{${targets.map(({ index, memberPrefix }) => memberPrefix + JSON.stringify(unescapeFormula(cells[index] ?? ""))).join(",")}}`;
