import { useEffect, useLayoutEffect, useRef } from "react";
import type { RefObject } from "react";
import { focusRow } from "./data-table-keys.ts";

/** The position at which a user left a table: the scroll position and the row with the focus. */
export interface TablePosition {
  /** Identifies the list that the table showed, with its filter and order. */
  readonly key: string;
  /** In pixels. */
  readonly scrollTop: number;
  readonly rowId: string | undefined;
}

/**
 * Where the position of a table is stored while another view replaces the table. The parent of both views owns the ref.
 */
export interface SavedPosition {
  readonly key: string;
  readonly ref: RefObject<TablePosition | undefined>;
}

/**
 * Returns the position at which the table was left. Returns `undefined` if it showed another list then, or was never
 * shown.
 */
export const readSavedPosition = (saved: SavedPosition | undefined): TablePosition | undefined =>
  saved?.ref.current?.key === saved?.key ? saved?.ref.current : undefined;

/** Stores the position when the table is unmounted, and restores it when the table is mounted again. */
export function useSavedPosition(
  saved: SavedPosition | undefined,
  scroller: RefObject<HTMLElement | null>,
  current: {
    readonly scrollTop: number;
    readonly rowId: string | undefined;
    readonly findIndex: (rowId: string) => number;
  },
): void {
  const latest = useRef({ saved, current });
  useEffect(() => {
    latest.current = { saved, current };
  });
  useLayoutEffect(() => {
    const position = readSavedPosition(latest.current.saved);
    const element = scroller.current;
    if (position !== undefined && element !== null) {
      element.scrollTo({ top: position.scrollTop });
      const index =
        position.rowId === undefined ? -1 : latest.current.current.findIndex(position.rowId);
      if (index >= 0) {
        focusRow(element, index);
      }
    }
    const latestAtEnd = latest;
    return () => savePosition(latestAtEnd.current);
  }, [scroller]);
}

function savePosition({
  saved,
  current: { scrollTop, rowId },
}: {
  readonly saved: SavedPosition | undefined;
  readonly current: Omit<TablePosition, "key">;
}): void {
  if (saved !== undefined) {
    saved.ref.current = { key: saved.key, scrollTop, rowId };
  }
}
