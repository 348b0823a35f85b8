/** A row of a list that the server sorts. */
interface Row {
  readonly id: string;
  readonly startMs: number;
}

/** What was in view when the list was held: these rows, and all behind the last of them. */
export interface PausedView {
  readonly ids: ReadonlySet<string>;
  readonly last: Row | undefined;
}

export interface LiveRows<Item> {
  readonly rows: readonly Item[];
  /** Rows that are held back. */
  readonly newCount: number;
  /** Whether rows between the newest page and those read before are not known. */
  readonly hasGap: boolean;
}

/**
 * The rows of a list in the order in which the server sorted them. A list that has the newest first is also
 * polled: `newest` is laid over the pages read before, and a row in both is taken from it because it is the
 * later state. While the list is held, no row is inserted between those that are being read.
 */
export function toLiveRows<Item extends Row>({
  pages,
  newest,
  paused,
}: {
  readonly pages: readonly (readonly Item[])[];
  /** Absent for a list in any other order: there the server's order is not known from the rows alone. */
  readonly newest: { readonly items: readonly Item[]; readonly hasMore: boolean } | undefined;
  readonly paused: PausedView | undefined;
}): LiveRows<Item> {
  const read = pages.flat();
  if (newest === undefined) {
    return { rows: firstOfEach(read), newCount: 0, hasGap: false };
  }
  const ids = new Set(newest.items.map(({ id }) => id));
  const older = firstOfEach(read).filter(({ id }) => !ids.has(id));
  const hasGap = newest.hasMore && read.length > 0 && older.length === read.length;
  const all = [...newest.items, ...older].toSorted(newestFirst);
  if (paused === undefined) {
    return { rows: all, newCount: 0, hasGap };
  }
  const behind = behindLast(all, paused.last);
  const rows = all.filter((row, index) => paused.ids.has(row.id) || index >= behind);
  return { rows, newCount: all.length - rows.length, hasGap };
}

/** Holds the list as it is. */
export const pauseRows = (rows: readonly Row[]): PausedView => ({
  ids: new Set(rows.map(({ id }) => id)),
  last: rows.at(-1),
});

/** A run that moved between two requests (it ended, so its latency changed) is on two pages. */
function firstOfEach<Item extends Row>(rows: readonly Item[]): readonly Item[] {
  const seen = new Set<string>();
  return rows.filter(({ id }) => !seen.has(id) && seen.add(id));
}

/** Where the rows behind the last held one begin. */
function behindLast(rows: readonly Row[], last: Row | undefined): number {
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

// Rows of one millisecond keep the server's order: the sort is stable, and the server sorts by microseconds.
const newestFirst = (a: Row, b: Row): number => b.startMs - a.startMs;
