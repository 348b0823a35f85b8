import { parseChoice, toSearchText } from "../../api/parse.ts";
import type { Sort } from "./data-table-columns.ts";

/** The order of a list in its URL: the id of a column of the table, and a direction. */
export interface SortSearch {
  readonly sort?: string;
  readonly order?: Sort["order"];
}

const maxColumnChars = 300;

export function parseSortSearch({ sort, order }: Readonly<Record<string, unknown>>): SortSearch {
  const column = toSearchText(sort)?.slice(0, maxColumnChars);
  return column === undefined
    ? {}
    : { sort: column, order: parseChoice(order, ["asc", "desc"] as const) ?? "desc" };
}
