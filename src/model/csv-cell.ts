/** The first character of what a spreadsheet would run as a formula, after any marks that prevent that. */
const formula = /^'*[=+\-@\t\r]/;
/** A number does nothing but be one. */
const number = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * A cell of a CSV file that no spreadsheet takes for a formula: `=`, `+`, `-`, `@`, a tab or a carriage return at its
 * begin gets an apostrophe before it, as does an apostrophe that already stands before one of them. Numbers stay as
 * they are.
 */
export const escapeFormula = (cell: string): string =>
  formula.test(cell) && !number.test(cell) ? `'${cell}` : cell;

/** The cell that {@link escapeFormula} was given. */
export const unescapeFormula = (cell: string): string =>
  cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell;
