import { toRecord } from "../../../api/parse.ts";
import { pluralize } from "../../../components/text/quantity.ts";
import { parseExact } from "../examples/example.ts";

/** Where a column of a CSV file goes. */
export const columnTargets = ["inputs", "outputs", "metadata", "split", "none"] as const;

export type ColumnTarget = (typeof columnTargets)[number];

/** How a file becomes examples. */
export type FileShape =
  | {
      readonly kind: "csv";
      readonly columns: readonly string[];
      readonly targets: readonly ColumnTarget[];
    }
  | { readonly kind: "jsonl" };

/** An example as the server imports it. */
export interface ImportRow {
  readonly inputs?: unknown;
  readonly outputs?: unknown;
  readonly metadata?: unknown;
  readonly split?: unknown;
}

const outputNames =
  /^(outputs?|answers?|expected|labels?|targets?|reference|completion|response|ideal)$/i;

/** What a column is likely to be, by its name: `outputs.answer`, `metadata.source`, `split`, `answer`. */
export function guessTarget(column: string): ColumnTarget {
  const [head = ""] = column.split(".");
  const prefix = columnTargets.find((target) => target === head && column.includes("."));
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
 * A record of a CSV file as an example. All cells are texts; the prefix of a column's name that says
 * where it goes is not part of the member's name.
 *
 * @throws RangeError the record has another length than the head.
 */
export function toCsvRow(
  cells: readonly string[],
  { columns, targets }: Extract<FileShape, { readonly kind: "csv" }>,
): ImportRow {
  if (cells.length !== columns.length) {
    throw new RangeError(`${pluralize(cells.length, "cell")} where the head has ${columns.length}`);
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
      parts[target].push([memberOf(columns[index] ?? "", target), cell]);
    }
  }
  return {
    inputs: Object.fromEntries(parts.inputs),
    ...(parts.outputs.length === 0 ? {} : { outputs: Object.fromEntries(parts.outputs) }),
    ...(parts.metadata.length === 0 ? {} : { metadata: Object.fromEntries(parts.metadata) }),
    ...(splits.length === 0 ? {} : { split: splits }),
  };
}

const memberOf = (column: string, target: string): string =>
  column.startsWith(`${target}.`) ? column.slice(target.length + 1) : column;

/**
 * A line of a JSONL file as an example: `{inputs, outputs, metadata, split}`, as this server exports
 * them; an object without `inputs` is the inputs themselves.
 *
 * @throws an error: it is no JSON object.
 */
export function toJsonRow(line: string): ImportRow {
  const value = parseExact(line);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new TypeError("not a JSON object");
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
