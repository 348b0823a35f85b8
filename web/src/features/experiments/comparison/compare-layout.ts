import type { ComparedRow } from "./comparison.ts";

/** The minimum widths of the columns in pixels. The first column stays in view while the others are scrolled. */
interface ColumnWidths {
  readonly first: number;
  readonly others: number;
}
const wideColumns: ColumnWidths = { first: 220, others: 220 };
/** The widths in a list that is narrower than `narrowListWidth`: on a phone, or next to the panel of an example. */
const narrowColumns: ColumnWidths = { first: 150, others: 180 };
const narrowListWidth = 640;
/** The width of the space to the left and right of a cell's content, with the border. */
const cellMargin = 25;
/** The width of a score, and the gap between two scores on a line. */
const scoreWidth = 150;
const scoreGap = 12;
/** The height of an output, which has at most three lines, and of the margins of its cell. */
const outputHeight = 76;
const lineHeight = 18;
/** The height of the first cell: its inputs and reference outputs have at most three lines each. */
const minRowHeight = 132;
/** The height of the first cell if the cells are stacked: its inputs and reference outputs then have two lines each. */
const stackedFirstHeight = 96;
/** The height of an experiment's name, which stacked cells begin with. */
const titleHeight = 24;
/**
 * The number of columns that are rendered on each side of the visible ones, so that the Tab key reaches the next
 * column.
 */
const extraColumns = 1;

/** The visible part of the table, in pixels. */
export interface Viewport {
  readonly scrollLeft: number;
  readonly width: number;
}

/** The experiments whose columns are rendered, and how many scores fit on a line of a cell. */
export interface VisibleColumns {
  /**
   * Whether the cells of a row are stacked, because the list is narrow and the columns do not fit. A wide list in which
   * the columns do not fit is scrolled instead.
   */
  readonly isStacked: boolean;
  /** Minimum widths of the columns. If all columns fit, they share the remaining width. */
  readonly widths: ColumnWidths;
  /** Index of the first and of the last experiment whose column is rendered. */
  readonly first: number;
  readonly last: number;
  readonly scoresPerLine: number;
}

/** Computes which columns to render. All columns of experiments have the same width. */
export function toVisibleColumns({ scrollLeft, width }: Viewport, count: number): VisibleColumns {
  const isNarrow = width < narrowListWidth;
  const widths = isNarrow ? narrowColumns : wideColumns;
  const spareWidth = width - widths.first - count * widths.others;
  if (isNarrow && spareWidth < 0) {
    const scoresPerLine = countScores(width - cellMargin);
    return { isStacked: true, widths, first: 0, last: Math.max(0, count - 1), scoresPerLine };
  }
  const addedWidth = Math.max(0, spareWidth) / (count + 1);
  const columnWidth = widths.others + addedWidth;
  // The first column stays in place and covers the columns that are scrolled under it.
  const shownWidth = Math.max(0, width - widths.first - addedWidth);
  const first = Math.floor(scrollLeft / columnWidth) - extraColumns;
  const last = Math.ceil((scrollLeft + shownWidth) / columnWidth) - 1 + extraColumns;
  return {
    isStacked: false,
    widths,
    first: Math.min(Math.max(0, first), Math.max(0, count - 1)),
    last: Math.max(0, Math.min(count - 1, last)),
    scoresPerLine: countScores(columnWidth - cellMargin),
  };
}

const countScores = (contentWidth: number): number =>
  Math.max(1, Math.floor((contentWidth + scoreGap) / (scoreWidth + scoreGap)));

/**
 * Computes the height that a row needs to show all scores of each experiment. Measuring the row would take longer than
 * rendering it, and could not include the cells that are not rendered.
 */
export function toRowHeight(
  row: ComparedRow,
  {
    experimentIds,
    isStacked,
    scoresPerLine,
  }: Pick<VisibleColumns, "isStacked" | "scoresPerLine"> & {
    readonly experimentIds: readonly string[];
  },
): number {
  const heights = experimentIds.map((id) => {
    const scoreCount = Object.keys(row.scores[id] ?? {}).length;
    const hasRepetitions = (row.runs[id] ?? []).length > 1;
    const lineCount = Math.ceil(scoreCount / scoresPerLine) + (hasRepetitions ? 2 : 1);
    return outputHeight + lineCount * lineHeight;
  });
  return isStacked
    ? heights.reduce((sum, height) => sum + titleHeight + height, stackedFirstHeight)
    : Math.max(minRowHeight, ...heights);
}
