import type { CSSProperties, ReactNode } from "react";
import type { ColumnLayout } from "./column-layout.ts";

/** One column of a `DataTable`. */
export interface Column<Row> {
  readonly id: string;
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  /** Pixels at least; exactly so many unless it grows. */
  readonly width: number;
  /** Its share of the room that is left over. */
  readonly grow?: number;
  readonly align?: "end";
  /** Whether a click on its title sorts; the direction of the first click. */
  readonly sort?: "asc" | "desc";
  /** Said where its title is pointed at: what it is, or why it does not sort. */
  readonly note?: string;
  /** Whether it shows before the reader has chosen. @defaultValue true */
  readonly isShown?: boolean;
  /** Whether it can't be hidden. */
  readonly isFixed?: boolean;
  /** Whether it shows on narrow screens. */
  readonly isNarrow?: boolean;
}

/** The column that rows are sorted by. */
export interface Sort {
  readonly column: string;
  readonly order: "asc" | "desc";
}

const selectionWidth = 36;

/** The tracks of the grid that head and rows share. */
export function toTracks<Row extends object>(
  columns: readonly Column<Row>[],
  {
    layout,
    hasSelection,
    isNarrow,
  }: {
    readonly layout: ColumnLayout;
    readonly hasSelection: boolean;
    readonly isNarrow: boolean;
  },
): CSSProperties {
  const tracks = columns.map(({ id, width, grow }) => {
    const chosen = isNarrow ? undefined : layout.widths[id];
    const least = isNarrow && grow !== undefined ? 0 : width;
    return {
      least: chosen ?? least,
      text:
        chosen === undefined && grow !== undefined
          ? `minmax(${least}px, ${grow}fr)`
          : `${chosen ?? width}px`,
    };
  });
  const before = hasSelection ? selectionWidth : 0;
  const text = [...(hasSelection ? [`${before}px`] : []), ...tracks.map((track) => track.text)];
  const total = tracks.reduce((sum, { least }) => sum + least, before);
  return {
    ["--tracks" as string]: `${text.join(" ")} minmax(0, ${text.some((one) => one.endsWith("fr)")) ? 0 : 1}fr)`,
    minWidth: total,
  };
}
