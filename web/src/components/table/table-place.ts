import { useEffect, useLayoutEffect, useRef } from "react";
import type { RefObject } from "react";
import { focusRow } from "./data-table-keys.ts";

/** Where a user left a table: how far it was scrolled, and the row that had the focus. */
export interface TablePlace {
  /** Identifies the list that the table showed, with its filter and order. */
  readonly key: string;
  /** In pixels. */
  readonly scrollTop: number;
  readonly rowId: string | undefined;
}

/** Keeps the place of a table while another view takes the table's place. The owner of both views owns the ref. */
export interface TablePlaceKeeper {
  readonly key: string;
  readonly ref: RefObject<TablePlace | undefined>;
}

/** The place at which the table was left; `undefined` if it showed another list then, or was not shown before. */
export const readTablePlace = (keeper: TablePlaceKeeper | undefined): TablePlace | undefined =>
  keeper?.ref.current?.key === keeper?.key ? keeper?.ref.current : undefined;

/** Restores the place when the table is mounted again, and keeps it when the table is unmounted. */
export function useTablePlace(
  keeper: TablePlaceKeeper | undefined,
  scroller: RefObject<HTMLElement | null>,
  current: {
    readonly scrollTop: number;
    readonly rowId: string | undefined;
    readonly findIndex: (rowId: string) => number;
  },
): void {
  const latest = useRef({ keeper, current });
  useEffect(() => {
    latest.current = { keeper, current };
  });
  useLayoutEffect(() => {
    const place = readTablePlace(latest.current.keeper);
    const element = scroller.current;
    if (place !== undefined && element !== null) {
      element.scrollTo({ top: place.scrollTop });
      const index = place.rowId === undefined ? -1 : latest.current.current.findIndex(place.rowId);
      if (index >= 0) {
        focusRow(element, index);
      }
    }
    const latestAtEnd = latest;
    return () => keepPlace(latestAtEnd.current);
  }, [scroller]);
}

function keepPlace({
  keeper,
  current: { scrollTop, rowId },
}: {
  readonly keeper: TablePlaceKeeper | undefined;
  readonly current: Omit<TablePlace, "key">;
}): void {
  if (keeper !== undefined) {
    keeper.ref.current = { key: keeper.key, scrollTop, rowId };
  }
}
