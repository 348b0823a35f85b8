import { unescapeFormula } from "millrace/model";
import { withSplits } from "../examples/splits.ts";
import { RequestError } from "../../model/errors.ts";
import type { UploadRow } from "./upload.ts";

/** The columns of a CSV file for each part of an example, as set in the form. */
export interface ColumnChoice {
  readonly inputs: readonly Column[];
  readonly outputs: readonly Column[];
  readonly metadata: readonly Column[];
}

export interface Column {
  /** As the head of the file has it. */
  readonly column: string;
  /** The member that it becomes. */
  readonly name: string;
}

/** Makes rows of cells to examples. All cells are texts; a mark that one is no formula is taken off. */
export class CsvColumns {
  readonly #width: number;
  readonly #inputs: readonly ColumnTarget[];
  readonly #outputs: readonly ColumnTarget[];
  readonly #metadata: readonly ColumnTarget[];

  /** @throws RequestError 422: the head lacks a column that is named, or has it twice. */
  constructor(received: readonly string[], choice: ColumnChoice) {
    const head = received.map(unescapeFormula);
    this.#width = head.length;
    this.#inputs = findTargets(head, choice.inputs, "input_keys");
    this.#outputs = findTargets(head, choice.outputs, "output_keys");
    this.#metadata = findTargets(head, choice.metadata, "metadata_keys");
  }

  /** `undefined` for a blank line. @throws RequestError 422: it has more cells than the head, or fewer. */
  toRow(cells: readonly string[], number: number): UploadRow | undefined {
    if (cells.length === 1 && cells[0] === "") {
      return undefined;
    }
    if (cells.length !== this.#width) {
      throw new RequestError(
        422,
        `row ${number} of the CSV has ${cells.length} cells, its head has ${this.#width}`,
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
  /** The member's name as JSON, and a colon. */
  readonly start: string;
}

function findTargets(
  head: readonly string[],
  columns: readonly Column[],
  field: string,
): readonly ColumnTarget[] {
  if (new Set(columns.map(({ name }) => name)).size < columns.length) {
    throw new RequestError(
      422,
      `${field}: two columns would become one member: map them to different names`,
    );
  }
  return columns.map(({ column, name }) => {
    const index = head.indexOf(column);
    if (index === -1) {
      const known = head.slice(0, 50).map((one) => JSON.stringify(one.slice(0, 80)));
      throw new RequestError(
        422,
        `the CSV has no column ${JSON.stringify(column)}, which ${field} names; its columns are ${known.join(", ")}`,
      );
    }
    if (head.indexOf(column, index + 1) !== -1) {
      throw new RequestError(
        422,
        `the CSV has the column ${JSON.stringify(column)} twice: rename one of them`,
      );
    }
    return { index, start: `${JSON.stringify(name)}:` };
  });
}

const toObject = (places: readonly ColumnTarget[], cells: readonly string[]): string =>
  `{${places.map(({ index, start }) => start + JSON.stringify(unescapeFormula(cells[index] ?? ""))).join(",")}}`;
