import type { UseInfiniteQueryResult } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import type { Column, Sort } from "./data-table-columns.ts";
import type { SortSearch } from "./sort-search.ts";

/** The maximum number of rows that are loaded to sort them. A longer list can't be sorted in the browser. */
export const maxSortedRows = 2_000;
/** The maximum number of pages that are loaded. A page may have few rows, because the server limits its time. */
const maxSortedPages = 100;

/** A list that the server returns page by page. */
type Pages = Pick<
  UseInfiniteQueryResult<{ readonly pages: readonly unknown[] }>,
  "data" | "hasNextPage" | "isFetching" | "isPlaceholderData" | "error" | "fetchNextPage"
>;

/** The rows of a list, in the order that the user chose if all of them are loaded. */
export interface CompleteSort<Row> {
  readonly rows: readonly Row[] | undefined;
  /** The columns of the table. A column by which the list can't be sorted has no `sort`. */
  readonly columns: readonly Column<Row>[];
  /** The chosen order of the rows; `undefined` while they have the order of the server. */
  readonly sort: Sort | undefined;
  /**
   * - `sorted`: the rows have the chosen order, or none was chosen.
   * - `loading`: the other rows are being loaded. Until then, the rows have the order of the server.
   * - `failed`: some rows could not be loaded.
   * - `tooLong`: the list has more rows than can be loaded.
   */
  readonly state: "sorted" | "loading" | "failed" | "tooLong";
  /** Loads the other rows again after an error. */
  readonly retry: () => void;
}

/**
 * Sorts a list by a column by which the server can't sort. All pages are loaded first: if only the loaded rows were
 * sorted, a row that belongs at the top could still be missing, and the order would change while the user scrolls. If
 * the server sorts by the column (it has `sort` but no `sortValue`), the rows are returned as they are.
 */
export function useCompleteSort<Row>({
  pages,
  rows,
  listKey,
  columns,
  search: { sort: columnId, order = "desc" },
  isLaterColumn = () => false,
}: {
  readonly pages: Pages;
  /** The loaded rows. Pass the same array as long as they do not change. */
  readonly rows: readonly Row[] | undefined;
  /** Identifies the list and the order of its pages. */
  readonly listKey: string;
  readonly columns: readonly Column<Row>[];
  readonly search: SortSearch;
  /** Whether the table may get a column with this id when more rows are loaded. */
  readonly isLaterColumn?: (columnId: string) => boolean;
}): CompleteSort<Row> {
  const { data, hasNextPage, isFetching, isPlaceholderData, error, fetchNextPage } = pages;
  const column = columns.find(({ id }) => id === columnId);
  const isSortedHere =
    column === undefined
      ? columnId !== undefined && isLaterColumn(columnId)
      : column.sortValue !== undefined;
  const isComplete = rows !== undefined && !hasNextPage && !isPlaceholderData;
  const isTooLong =
    hasNextPage &&
    ((rows?.length ?? 0) >= maxSortedRows || (data?.pages.length ?? 0) >= maxSortedPages);
  // If a refetch finds another page after the last one, the rows that were complete stay in view until it is loaded.
  const [complete, setComplete] = useState<{
    readonly listKey: string;
    readonly rows: readonly Row[];
  }>();
  if (isComplete && (complete?.rows !== rows || complete.listKey !== listKey)) {
    setComplete({ listKey, rows });
  }
  const lastRows = complete?.listKey === listKey && !isTooLong ? complete.rows : undefined;
  const completeRows = isComplete ? rows : lastRows;
  const isMissingRows = isSortedHere && !isTooLong && !isComplete;
  useEffect(() => {
    if (isMissingRows && hasNextPage && !isFetching && error === null) {
      void fetchNextPage({ cancelRefetch: false });
    }
  });
  const sort = useMemo((): Sort | undefined => {
    const canSort = isSortedHere ? completeRows !== undefined : !isPlaceholderData;
    return column?.sort !== undefined && canSort ? { column: column.id, order } : undefined;
  }, [column, order, isSortedHere, completeRows, isPlaceholderData]);
  const sortedRows = useMemo(
    () => (isSortedHere && completeRows ? sortRows(completeRows, columns, sort) : rows),
    [isSortedHere, completeRows, rows, columns, sort],
  );
  const offeredColumns = useMemo(
    () => (isTooLong ? columns.map(removeSort) : columns),
    [isTooLong, columns],
  );
  return {
    rows: sortedRows,
    columns: offeredColumns,
    sort,
    state: toState({
      isTooLong,
      isMissingRows: isMissingRows && completeRows === undefined,
      hasFailed: error !== null,
    }),
    retry: () => void fetchNextPage({ cancelRefetch: false }),
  };
}

function toState({
  isTooLong,
  isMissingRows,
  hasFailed,
}: {
  readonly isTooLong: boolean;
  readonly isMissingRows: boolean;
  readonly hasFailed: boolean;
}): CompleteSort<never>["state"] {
  if (isTooLong) {
    return "tooLong";
  }
  if (!isMissingRows) {
    return "sorted";
  }
  return hasFailed ? "failed" : "loading";
}

/** Removes the sort order of a column, unless the server sorts by this column. */
function removeSort<Row>(column: Column<Row>): Column<Row> {
  const { sort: _sort, ...otherMembers } = column;
  return column.sortValue === undefined
    ? column
    : { ...otherMembers, tooltip: "The list is too long to be sorted by this column." };
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
