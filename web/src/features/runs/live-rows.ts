/** A row of a list that the server sorts. */
interface Row {
  readonly id: string;
  readonly startMs: number;
}

/** The rows that the list had when it was paused. Until it is resumed, rows are added only after `lastRow`. */
export interface PausedView {
  readonly ids: ReadonlySet<string>;
  readonly lastRow: Row | undefined;
}

/** The rows that a run list shows: the loaded pages, merged with the result of the latest poll. */
export interface LiveRows<Item> {
  readonly rows: readonly Item[];
  /** The number of new rows that are not shown because the list is paused. */
  readonly newCount: number;
  /** Whether rows may be missing between the latest poll and the pages that were loaded earlier. */
  readonly hasGap: boolean;
}

/**
 * Merges the loaded pages of a run list with the latest poll. Only a list that shows the newest runs first is polled.
 * If the pages and the poll contain the same row, the row of the poll is used, because it is more recent. While the
 * list is paused, no row is inserted between the visible rows.
 */
export function toLiveRows<Item extends Row>({
  pages,
  latestPoll,
  pausedView,
}: {
  readonly pages: readonly (readonly Item[])[];
  /** The result of the latest poll; `undefined` for a list in any other order, which is not polled. */
  readonly latestPoll: { readonly items: readonly Item[]; readonly hasMore: boolean } | undefined;
  readonly pausedView: PausedView | undefined;
}): LiveRows<Item> {
  const loadedRows = pages.flat();
  if (latestPoll === undefined) {
    return { rows: dropRepeated(loadedRows), newCount: 0, hasGap: false };
  }
  const polledIds = new Set(latestPoll.items.map(({ id }) => id));
  const olderRows = dropRepeated(loadedRows).filter(({ id }) => !polledIds.has(id));
  const hasGap =
    latestPoll.hasMore && loadedRows.length > 0 && olderRows.length === loadedRows.length;
  const allRows = [...latestPoll.items, ...olderRows].toSorted(compareNewestFirst);
  if (pausedView === undefined) {
    return { rows: allRows, newCount: 0, hasGap };
  }
  const firstAddedIndex = findIndexAfter(allRows, pausedView.lastRow);
  const rows = allRows.filter(
    (row, index) => pausedView.ids.has(row.id) || index >= firstAddedIndex,
  );
  return { rows, newCount: allRows.length - rows.length, hasGap };
}

/** Records the current rows of a list that is being paused. */
export const toPausedView = (rows: readonly Row[]): PausedView => ({
  ids: new Set(rows.map(({ id }) => id)),
  lastRow: rows.at(-1),
});

/** Removes repeated rows. A run whose latency changed between two requests can be on two pages. */
function dropRepeated<Item extends Row>(rows: readonly Item[]): readonly Item[] {
  const seenIds = new Set<string>();
  return rows.filter(({ id }) => !seenIds.has(id) && seenIds.add(id));
}

/** Returns the index of the first row after `lastRow`, even if that row is no longer in the list. */
function findIndexAfter(rows: readonly Row[], lastRow: Row | undefined): number {
  if (lastRow === undefined) {
    return rows.length;
  }
  const rowIndex = rows.findIndex(({ id }) => id === lastRow.id);
  if (rowIndex !== -1) {
    return rowIndex + 1;
  }
  const laterIndex = rows.findIndex((row) => compareNewestFirst(row, lastRow) > 0);
  return laterIndex === -1 ? rows.length : laterIndex;
}

// The server sorts by microseconds. Rows of the same millisecond stay in the server's order, because JavaScript's sort
// is stable.
const compareNewestFirst = (a: Row, b: Row): number => b.startMs - a.startMs;
