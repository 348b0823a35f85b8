import type { ComparedRow } from "./comparison.ts";

/** Minimum width of a column, in pixels. If all columns fit, they share the width that is left. */
export const minColumnWidth = 220;
/** Minimum width of the first column where the window is narrow: it stays in view while the others are scrolled. */
export const narrowFirstColumnWidth = 150;
/** The space in a cell to the left and right of its content, and its border. */
const cellMargin = 25;
/** The space that a score needs, and the gap between two scores of a line. */
const scoreWidth = 150;
const scoreGap = 12;
/** A cell with its output, of at most three lines, and its margins. */
const outputHeight = 76;
const lineHeight = 18;
/** The first cell has inputs and reference outputs, of at most three lines each. */
const minRowHeight = 132;
/** Columns that exist on each side of the visible ones, so that the Tab key reaches the next one. */
const columnsAhead = 1;

/** The part of the table that can be seen, in pixels. */
export interface Viewport {
  readonly scrollLeft: number;
  readonly width: number;
}

/** The experiments whose columns exist, and how wide they are. */
export interface VisibleColumns {
  /** Indexes of the first and the last experiment. */
  readonly first: number;
  readonly last: number;
  readonly scoresPerLine: number;
}

/** Computes which columns are visible. All columns of experiments have the same width. */
export function toVisibleColumns(
  { scrollLeft, width }: Viewport,
  { count, firstColumnWidth }: { readonly count: number; readonly firstColumnWidth: number },
): VisibleColumns {
  const spareWidth = Math.max(0, width - firstColumnWidth - count * minColumnWidth);
  const columnWidth = minColumnWidth + spareWidth / (count + 1);
  // The first column covers what is scrolled below it.
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
 * Returns the height of a row, which holds all scores of each experiment. It is computed, because to measure each row
 * while the user scrolls takes longer than to render it, and because most of its cells don't exist.
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
