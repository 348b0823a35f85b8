import { useLayoutEffect, useState } from "react";
import type { RefObject } from "react";
import { toVisibleColumns } from "./compare-layout.ts";
import type { VisibleColumns } from "./compare-layout.ts";

/** The width of the table, in pixels, that is assumed until the table is measured. */
const assumedWidth = 1_440;

/**
 * Returns the layout of a table, and the columns that must be rendered. Updates them when the user scrolls or resizes
 * the table.
 */
export function useVisibleColumns(
  scroller: RefObject<HTMLElement | null>,
  count: number,
): VisibleColumns {
  const [columns, setColumns] = useState(() =>
    toVisibleColumns({ scrollLeft: 0, width: assumedWidth }, count),
  );
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) {
      return undefined;
    }
    const update = (): void => {
      const viewport = { scrollLeft: element.scrollLeft, width: element.clientWidth };
      const newColumns = toVisibleColumns(viewport, count);
      setColumns((current) => (isEqual(current, newColumns) ? current : newColumns));
    };
    update();
    const observer = new ResizeObserver(update);
    observer.observe(element);
    element.addEventListener("scroll", update, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", update);
    };
  }, [scroller, count]);
  return columns;
}

const isEqual = (a: VisibleColumns, b: VisibleColumns): boolean =>
  a.isStacked === b.isStacked &&
  a.widths === b.widths &&
  a.first === b.first &&
  a.last === b.last &&
  a.scoresPerLine === b.scoresPerLine;
