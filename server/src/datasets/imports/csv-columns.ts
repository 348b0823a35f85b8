import { unescapeFormula } from "millrace/model";
import { withSplits } from "../examples/splits.ts";
import { RequestError } from "../../model/errors.ts";
import type { UploadRow } from "./upload.ts";

/** The columns of a CSV file that become inputs, outputs and metadata, as set in the form. */
export interface ColumnChoice {
  readonly inputs: readonly Column[];
  readonly outputs: readonly Column[];
  readonly metadata: readonly Column[];
}

export interface Column {
  /** The name in the header row of the file. */
  readonly column: string;
  /** The member of the example that the column becomes. */
  readonly name: string;
}

/**
 * Converts rows of cells to examples. All cells are strings; the prefix that keeps spreadsheets from evaluating a
 * cell as a formula is removed.
 */
export class CsvColumns {
  readonly #width: number;
  readonly #inputs: readonly ColumnTarget[];
  readonly #outputs: readonly ColumnTarget[];
  readonly #metadata: readonly ColumnTarget[];

  /** @throws RequestError 422: the header row lacks a requested column, or has it twice. */
  constructor(received: readonly string[], choice: ColumnChoice) {
    const header = received.map(unescapeFormula);
    this.#width = header.length;
    this.#inputs = findTargets(header, choice.inputs, "input_keys");
    this.#outputs = findTargets(header, choice.outputs, "output_keys");
    this.#metadata = findTargets(header, choice.metadata, "metadata_keys");
  }

  /**
   * Converts one row; `undefined` for a blank line.
   *
   * @throws RequestError 422: it has more or fewer cells than the header row.
   */
  toRow(cells: readonly string[], number: number): UploadRow | undefined {
    if (cells.length === 1 && cells[0] === "") {
      return undefined;
    }
    if (cells.length !== this.#width) {
      throw new RequestError(
        422,
        `row ${number} of the CSV has ${cells.length} cells, but its header row has ${this.#width}`,
      );
    }
    const metadata = this.#metadata.length === 0 ? null : toObject(this.#metadata, cells);
    return {
      inputs: toObject(this.#inputs, cells),
      outputs: this.#outputs.length === 0 ? null : toObject(this.#outputs, cells),
      metadata: withSplits(metadata, undefined),
    };
  }
}

interface ColumnTarget {
  readonly index: number;
  /** The member's name as JSON, followed by a colon. */
  readonly start: string;
}

function findTargets(
  header: readonly string[],
  columns: readonly Column[],
  field: string,
): readonly ColumnTarget[] {
  if (new Set(columns.map(({ name }) => name)).size < columns.length) {
    throw new RequestError(
      422,
      `${field}: two columns would become the same member; map them to different names`,
    );
  }
  return columns.map(({ column, name }) => {
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
    return { index, start: `${JSON.stringify(name)}:` };
  });
}

const toObject = (targets: readonly ColumnTarget[], cells: readonly string[]): string =>
  `{${targets.map(({ index, start }) => start + JSON.stringify(unescapeFormula(cells[index] ?? ""))).join(",")}}`;
