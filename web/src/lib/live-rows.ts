/** A row with its place in a list that has the newest first. */
interface Row {
  readonly id: string;
  readonly startMs: number;
}

/** What was in view when the list was held: these rows, and all behind the last of them. */
export interface Held {
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
 * The newest page laid over the pages read before; a row in both is taken from the newest page, which knows
 * how it went on. While the list is held no row comes in between those that are being read.
 */
export function toLiveRows<Item extends Row>({
  pages,
  newest,
  held,
}: {
  readonly pages: readonly (readonly Item[])[];
  readonly newest: { readonly items: readonly Item[]; readonly hasMore: boolean } | undefined;
  readonly held: Held | undefined;
}): LiveRows<Item> {
  const read = pages.flat();
  const ids = new Set(newest?.items.map(({ id }) => id));
  const older = read.filter(({ id }) => !ids.has(id));
  const hasGap = newest?.hasMore === true && read.length > 0 && older.length === read.length;
  const all = [...(newest?.items ?? []), ...older].toSorted(newestFirst);
  if (held === undefined) {
    return { rows: all, newCount: 0, hasGap };
  }
  const { last } = held;
  const rows = all.filter(
    (row) => held.ids.has(row.id) || (last !== undefined && newestFirst(row, last) > 0),
  );
  return { rows, newCount: all.length - rows.length, hasGap };
}

/** Holds the list as it is. */
export const holdRows = (rows: readonly Row[]): Held => ({
  ids: new Set(rows.map(({ id }) => id)),
  last: rows.at(-1),
});

const newestFirst = (a: Row, b: Row): number => b.startMs - a.startMs || (a.id < b.id ? 1 : -1);
