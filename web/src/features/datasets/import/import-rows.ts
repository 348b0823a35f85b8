import { toRecord } from "../../../api/parse.ts";
import { pluralize } from "../../../components/text/quantity.ts";
import { parseExactJson } from "../examples/example.ts";

/** The part of an example that a CSV column fills; `none` skips the column. */
export const columnTargets = ["inputs", "outputs", "metadata", "split", "none"] as const;

export type ColumnTarget = (typeof columnTargets)[number];

/** The format of a file and, for CSV, how its columns map to parts of an example. */
export type FileShape =
  | {
      readonly kind: "csv";
      readonly columns: readonly string[];
      readonly targets: readonly ColumnTarget[];
    }
  | { readonly kind: "jsonl" };

/** An example in the format of the import request. */
export interface ImportRow {
  readonly inputs?: unknown;
  readonly outputs?: unknown;
  readonly metadata?: unknown;
  readonly split?: unknown;
}

const outputNames =
  /^(outputs?|answers?|expected|labels?|targets?|reference|completion|response|ideal)$/i;

/** Guesses the target of a column from its name, such as `outputs.answer`, `metadata.source`, `split` or `answer`. */
export function guessTarget(column: string): ColumnTarget {
  const [firstSegment = ""] = column.split(".");
  const prefix = columnTargets.find((target) => target === firstSegment && column.includes("."));
  if (prefix !== undefined && prefix !== "none" && prefix !== "split") {
    return prefix;
  }
  if (/^(split|dataset_split)$/i.test(column)) {
    return "split";
  }
  if (/^(id|created_at|modified_at)$/i.test(column)) {
    return "none";
  }
  return outputNames.test(column) ? "outputs" : "inputs";
}

/**
 * Converts a CSV record to an example. All values are strings. If the name of a column begins with its target, as in
 * `inputs.question`, the name of the field is the part after the dot (`question`).
 *
 * @throws RangeError the record and the header row differ in length.
 */
export function toCsvRow(
  cells: readonly string[],
  { columns, targets }: Extract<FileShape, { readonly kind: "csv" }>,
): ImportRow {
  if (cells.length !== columns.length) {
    throw new RangeError(
      `the row has ${pluralize(cells.length, "cell")}, but the header has ${columns.length}`,
    );
  }
  const parts: Record<"inputs" | "outputs" | "metadata", [string, string][]> = {
    inputs: [],
    outputs: [],
    metadata: [],
  };
  const splits: string[] = [];
  for (const [index, cell] of cells.entries()) {
    const target = targets[index] ?? "none";
    if (target === "split") {
      splits.push(...cell.split(",").flatMap((name) => name.trim() || []));
    } else if (target !== "none") {
      parts[target].push([toFieldName(columns[index] ?? "", target), cell]);
    }
  }
  return {
    inputs: Object.fromEntries(parts.inputs),
    ...(parts.outputs.length === 0 ? {} : { outputs: Object.fromEntries(parts.outputs) }),
    ...(parts.metadata.length === 0 ? {} : { metadata: Object.fromEntries(parts.metadata) }),
    ...(splits.length === 0 ? {} : { split: splits }),
  };
}

const toFieldName = (column: string, target: string): string =>
  column.startsWith(`${target}.`) ? column.slice(target.length + 1) : column;

/**
 * Converts a line of a JSONL file to an example. The line has the form `{inputs, outputs, metadata, split}`, as in an
 * export of this server. An object without `inputs` becomes the inputs of the example.
 *
 * @throws SyntaxError the line is not JSON.
 * @throws TypeError the line is not a JSON object.
 */
export function toJsonRow(line: string): ImportRow {
  const value = parseExactJson(line);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new TypeError("the line is not a JSON object");
  }
  if (!("inputs" in value)) {
    return { inputs: value };
  }
  const { inputs, outputs, metadata, split } = toRecord(value);
  return {
    inputs,
    ...(outputs === undefined ? {} : { outputs }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(split === undefined ? {} : { split }),
  };
}
