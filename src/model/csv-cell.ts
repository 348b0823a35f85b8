/**
 * Matches a cell that a spreadsheet would execute as a formula, possibly after apostrophes that
 * prevent it.
 */
const formula = /^'*[=+\-@\t\r]/;
/** Numbers are harmless. */
const number = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * Escapes a CSV cell so that no spreadsheet executes it as a formula: a cell that begins with `=`,
 * `+`, `-`, `@`, a tab or a carriage return gets a leading apostrophe, and so does a cell that
 * already has apostrophes before such a character. Numbers stay unchanged.
 */
export const escapeFormula = (cell: string): string =>
  formula.test(cell) && !number.test(cell) ? `'${cell}` : cell;

/** Reverses {@link escapeFormula}. */
export const unescapeFormula = (cell: string): string =>
  cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell;
