import { formatCompactJson } from "../text/json-text.ts";
/** A list of objects as a table: a column for each of their members. */
export interface PayloadTable {
  /** The name of the member that contains the list; absent if the value is the list itself. */
  readonly key?: string;
  readonly columns: readonly string[];
  /** The first rows. A cell is a text, or the JSON of another value; `undefined` where the member is absent. */
  readonly rows: readonly (readonly (string | undefined)[])[];
  /** The number of rows of the whole list. */
  readonly rowCount: number;
}

const maxRows = 500;
const maxColumns = 30;
const maxCellChars = 300;

type Row = Readonly<Record<string, unknown>>;

/** Finds the list of objects: the value itself, or the only such list among its members. */
function findRows(
  value: unknown,
): { readonly list: readonly Row[]; readonly key?: string } | undefined {
  if (isRows(value)) {
    return { list: value };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return undefined;
  }
  const lists = Object.entries(value).filter((entry): entry is [string, readonly Row[]] =>
    isRows(entry[1]),
  );
  const [[key, list] = []] = lists;
  return lists.length === 1 && key !== undefined && list !== undefined ? { list, key } : undefined;
}

export const hasTable = (value: unknown): boolean => findRows(value) !== undefined;

/** Returns the table of a value that is a list of objects, or has exactly one such list among its members. */
export function toTable(value: unknown): PayloadTable | undefined {
  const foundRows = findRows(value);
  if (foundRows === undefined) {
    return undefined;
  }
  const { list, key } = foundRows;
  const shownRows = list.slice(0, maxRows);
  const columns = [...new Set(shownRows.flatMap(Object.keys))].slice(0, maxColumns);
  return {
    ...(key === undefined ? {} : { key }),
    columns,
    rows: shownRows.map((row) => columns.map((name) => toCell(row[name]))),
    rowCount: list.length,
  };
}

const isRows = (value: unknown): value is readonly Row[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((item) => typeof item === "object" && item !== null && !Array.isArray(item));

function toCell(value: unknown): string | undefined {
  if (value === undefined) {
    return undefined;
  }
  const text = typeof value === "string" ? value : formatCompactJson(value);
  return text.length > maxCellChars ? `${text.slice(0, maxCellChars)}…` : text;
}
