import { useMemo } from "react";
import type { Column, Sort } from "./data-table-columns.ts";
import type { SortSearch } from "./sort-search.ts";

/** The loaded rows in the order that the user chose, and the order that the table shows. */
interface LoadedSort<Row> {
  readonly rows: readonly Row[] | undefined;
  readonly sort: Sort | undefined;
}

/**
 * Sorts the rows that are loaded, for a list that the server returns in one order only. Until the user chooses a column,
 * the rows are in the order of the server.
 */
export function useLoadedSort<Row>(
  rows: readonly Row[] | undefined,
  columns: readonly Column<Row>[],
  { sort: column, order = "desc" }: SortSearch,
): LoadedSort<Row> {
  const sort = useMemo(
    () => (column === undefined ? undefined : { column, order }),
    [column, order],
  );
  const sortedRows = useMemo(() => rows && sortRows(rows, columns, sort), [rows, columns, sort]);
  return { rows: sortedRows, sort };
}

/** Sorts rows by a column. Rows without a value in it come last in either order. */
export function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sort: Sort | undefined,
): readonly Row[] {
  const read = columns.find(({ id }) => id === sort?.column)?.sortValue;
  if (sort === undefined || read === undefined) {
    return rows;
  }
  const direction = sort.order === "asc" ? 1 : -1;
  return rows.toSorted((left, right) => {
    const [leftValue, rightValue] = [read(left), read(right)];
    if (leftValue === undefined || rightValue === undefined) {
      return Number(leftValue === undefined) - Number(rightValue === undefined);
    }
    return direction * compare(leftValue, rightValue);
  });
}

const compare = (left: number | string, right: number | string): number =>
  typeof left === "number" && typeof right === "number"
    ? left - right
    : String(left).localeCompare(String(right), "en", { numeric: true });
