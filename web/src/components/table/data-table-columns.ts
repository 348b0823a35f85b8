import type { CSSProperties, ReactNode } from "react";
import type { ColumnLayout } from "./column-layout.ts";

/** One column of a `DataTable`. */
export interface Column<Row> {
  readonly id: string;
  readonly title: string;
  readonly renderCell: (row: Row) => ReactNode;
  /** The width in pixels; the minimum width if the column grows. */
  readonly width: number;
  /** The `fr` factor by which the column shares the table's free width. @defaultValue the column does not grow */
  readonly grow?: number;
  readonly align?: "end";
  /** The sort order of the first click on the title. Absent if the table can't be sorted by this column. */
  readonly sort?: "asc" | "desc";
  /**
   * The value by which `useCompleteSort` sorts the rows. Rows without a value come last. Absent if the server sorts
   * them.
   */
  readonly sortValue?: (row: Row) => number | string | undefined;
  /** The tooltip of the title: what the column shows, or why it can't be sorted. */
  readonly tooltip?: string;
  /** Whether the column is shown by default. @defaultValue true */
  readonly isShown?: boolean;
  /** Whether the column can't be hidden. */
  readonly isFixed?: boolean;
  /** Whether the column is shown on narrow screens. */
  readonly isShownWhenNarrow?: boolean;
}

/** The column and order by which the rows are sorted. */
export interface Sort {
  readonly column: string;
  readonly order: "asc" | "desc";
}

const selectionWidth = 36;

/** Converts the columns to the CSS grid tracks of the table's header and rows. */
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
    const userWidth = isNarrow ? undefined : layout.widths[id];
    const minWidth = isNarrow && grow !== undefined ? 0 : width;
    return {
      minWidth: userWidth ?? minWidth,
      text:
        userWidth === undefined && grow !== undefined
          ? `minmax(${minWidth}px, ${grow}fr)`
          : `${userWidth ?? width}px`,
    };
  });
  const selectionTrackWidth = hasSelection ? selectionWidth : 0;
  const trackTexts = [
    ...(hasSelection ? [`${selectionTrackWidth}px`] : []),
    ...tracks.map((track) => track.text),
  ];
  const totalMinWidth = tracks.reduce((sum, track) => sum + track.minWidth, selectionTrackWidth);
  return {
    ["--tracks" as string]: `${trackTexts.join(" ")} minmax(0, ${trackTexts.some((track) => track.endsWith("fr)")) ? 0 : 1}fr)`,
    minWidth: totalMinWidth,
  };
}
