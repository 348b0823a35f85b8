import type { ComparedRow } from "./comparison.ts";

/** Minimum width of a column, in pixels. If all columns fit, they share the remaining width. */
export const minColumnWidth = 220;
/** Minimum width of the first column in a narrow window. This column stays in view while the others are scrolled. */
export const narrowFirstColumnWidth = 150;
/** The width of the space to the left and right of a cell's content, with the border. */
const cellMargin = 25;
/** The width of a score, and the gap between two scores on a line. */
const scoreWidth = 150;
const scoreGap = 12;
/** The height of an output, of at most three lines, with the margins of its cell. */
const outputHeight = 76;
const lineHeight = 18;
/** The height of the first cell: its inputs and reference outputs have at most three lines each. */
const minRowHeight = 132;
/**
 * The number of columns that are rendered on each side of the visible ones, so that the Tab key reaches the next
 * column.
 */
const columnsAhead = 1;

/** The visible part of the table, in pixels. */
export interface Viewport {
  readonly scrollLeft: number;
  readonly width: number;
}

/** The experiments whose columns are rendered, and how many scores fit on a line of a cell. */
export interface VisibleColumns {
  /** Indexes of the first and the last experiment. */
  readonly first: number;
  readonly last: number;
  readonly scoresPerLine: number;
}

/** Computes which columns to render. All columns of experiments have the same width. */
export function toVisibleColumns(
  { scrollLeft, width }: Viewport,
  { count, firstColumnWidth }: { readonly count: number; readonly firstColumnWidth: number },
): VisibleColumns {
  const spareWidth = Math.max(0, width - firstColumnWidth - count * minColumnWidth);
  const columnWidth = minColumnWidth + spareWidth / (count + 1);
  // The first column stays in place and covers the columns that are scrolled under it.
  const shownWidth = Math.max(0, width - firstColumnWidth - spareWidth / (count + 1));
  const first = Math.floor(scrollLeft / columnWidth) - columnsAhead;
  const last = Math.ceil((scrollLeft + shownWidth) / columnWidth) - 1 + columnsAhead;
  const contentWidth = columnWidth - cellMargin;
  return {
    first: Math.min(Math.max(0, first), Math.max(0, count - 1)),
    last: Math.max(0, Math.min(count - 1, last)),
    scoresPerLine: Math.max(1, Math.floor((contentWidth + scoreGap) / (scoreWidth + scoreGap))),
  };
}

/**
 * Computes the height of a row, in which all scores of each experiment fit. Measuring the row would take longer than
 * rendering it, and could not include the cells that are not rendered.
 */
export function toRowHeight({ scores, runs }: ComparedRow, scoresPerLine: number): number {
  const scoreCount = Object.values(scores).reduce(
    (most, experimentScores) => Math.max(most, Object.keys(experimentScores).length),
    0,
  );
  const hasRepetitions = Object.values(runs).some(({ length }) => length > 1);
  const lineCount = Math.ceil(scoreCount / scoresPerLine) + (hasRepetitions ? 2 : 1);
  return Math.max(minRowHeight, outputHeight + lineCount * lineHeight);
}
