/**
 * Matches a cell that a spreadsheet would execute as a formula. Also matches such a cell after leading apostrophes,
 * which prevent the execution.
 */
const formulaPattern = /^'*[=+\-@\t\r]/;
/** Matches a number, which no spreadsheet executes as a formula. */
const numberPattern = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * Escapes a CSV cell so that no spreadsheet executes it as a formula: a cell that begins with `=`,
 * `+`, `-`, `@`, a tab or a carriage return gets a leading apostrophe, and so does a cell that
 * already has apostrophes before such a character. Numbers stay unchanged.
 */
export const escapeFormula = (cell: string): string =>
  formulaPattern.test(cell) && !numberPattern.test(cell) ? `'${cell}` : cell;

/** Reverses {@link escapeFormula}. */
export const unescapeFormula = (cell: string): string =>
  cell.startsWith("'") && formulaPattern.test(cell) ? cell.slice(1) : cell;
