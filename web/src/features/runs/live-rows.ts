/** A row of a list that the server sorts. */
interface Row {
  readonly id: string;
  readonly startMs: number;
}

/** The rows that the list had when it was paused. Rows may still be added after the last of them. */
export interface PausedView {
  readonly ids: ReadonlySet<string>;
  readonly last: Row | undefined;
}

/** The rows to show. */
export interface LiveRows<Item> {
  readonly rows: readonly Item[];
  /** The number of new rows that are not shown because the list is paused. */
  readonly newCount: number;
  /** Whether rows may be missing between the newest page and the pages loaded before. */
  readonly hasGap: boolean;
}

/**
 * Merges the rows of a list, in the order in which the server sorted them. A list with the newest first is
 * also polled: a row that is both in `newest` and in the pages is taken from `newest`, which is the later
 * state. While the list is paused, no row is inserted between the rows in view.
 */
export function toLiveRows<Item extends Row>({
  pages,
  newest,
  paused,
}: {
  readonly pages: readonly (readonly Item[])[];
  /** `undefined` for a list in any other order: new rows could not be sorted into it without the server. */
  readonly newest: { readonly items: readonly Item[]; readonly hasMore: boolean } | undefined;
  readonly paused: PausedView | undefined;
}): LiveRows<Item> {
  const loaded = pages.flat();
  if (newest === undefined) {
    return { rows: dropRepeated(loaded), newCount: 0, hasGap: false };
  }
  const ids = new Set(newest.items.map(({ id }) => id));
  const older = dropRepeated(loaded).filter(({ id }) => !ids.has(id));
  const hasGap = newest.hasMore && loaded.length > 0 && older.length === loaded.length;
  const all = [...newest.items, ...older].toSorted(newestFirst);
  if (paused === undefined) {
    return { rows: all, newCount: 0, hasGap };
  }
  const after = indexAfter(all, paused.last);
  const rows = all.filter((row, index) => paused.ids.has(row.id) || index >= after);
  return { rows, newCount: all.length - rows.length, hasGap };
}

/** Remembers the current rows of a list that is being paused. */
export const pauseRows = (rows: readonly Row[]): PausedView => ({
  ids: new Set(rows.map(({ id }) => id)),
  last: rows.at(-1),
});

/** Keeps the first of repeated rows. A run whose latency changed between two requests can be on two pages. */
function dropRepeated<Item extends Row>(rows: readonly Item[]): readonly Item[] {
  const seen = new Set<string>();
  return rows.filter(({ id }) => !seen.has(id) && seen.add(id));
}

/** The index of the first row after `last`, even if `last` is no longer in the list. */
function indexAfter(rows: readonly Row[], last: Row | undefined): number {
  if (last === undefined) {
    return rows.length;
  }
  const rowIndex = rows.findIndex(({ id }) => id === last.id);
  if (rowIndex !== -1) {
    return rowIndex + 1;
  }
  const later = rows.findIndex((row) => newestFirst(row, last) > 0);
  return later === -1 ? rows.length : later;
}

// The server sorts by microseconds; this sort is stable, so rows of the same millisecond keep the server's order.
const newestFirst = (a: Row, b: Row): number => b.startMs - a.startMs;
