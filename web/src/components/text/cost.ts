/**
 * The numbers of digits after the decimal point: the minimum (whole cents), the maximum of a single cost, and the
 * maximum in a column of costs.
 */
const [minDigits, maxDigits, maxColumnDigits] = [2, 12, 6];

// Create each formatter only once, because creating one takes longer than rendering a cell of a table.
const formats = Array.from(
  { length: maxDigits + 1 },
  (_, digits) =>
    new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }),
);

const formatDigits = (cost: number, digits: number): string => {
  const smallest = 10 ** -digits;
  return cost > 0 && cost < smallest / 2
    ? `< $${smallest.toFixed(digits)}`
    : `$${formats[digits]?.format(cost) ?? cost.toFixed(digits)}`;
};

/**
 * The number of digits after the point that a cost needs, at most `most`: two for a dollar or more, otherwise as many
 * as its significant digits take.
 */
function chooseFractionDigits(cost: number, significantDigits: number, most: number): number {
  const magnitude = Math.abs(cost);
  if (magnitude === 0 || magnitude >= 1) {
    return minDigits;
  }
  const digits = significantDigits - 1 - Math.floor(Math.log10(magnitude));
  if (digits > most) {
    return most;
  }
  const rounded = magnitude.toFixed(digits).replace(/0+$/, "");
  return Math.max(minDigits, rounded.length - rounded.indexOf(".") - 1);
}

/** Formats a cost in US dollars: `$12.30`, `$0.50`, `$0.00351`. */
export const formatDollars = (cost: number): string =>
  formatDigits(cost, chooseFractionDigits(cost, 3, maxDigits));

/**
 * Creates the format of a column of costs. All costs of the column have as many digits after the point as the smallest
 * cost needs, so that they can be compared at a glance: `$9.3000`, `$0.0146`. Columns that need the same number of
 * digits get the same function.
 */
export const createCostFormat = (costs: readonly number[]): ((cost: number) => string) =>
  columnFormats[
    costs.reduce(
      (most, cost) => Math.max(most, chooseFractionDigits(cost, 2, maxColumnDigits)),
      minDigits,
    )
  ] ?? formatDollars;

const columnFormats = Array.from(
  { length: maxColumnDigits + 1 },
  (_, digits) =>
    (cost: number): string =>
      formatDigits(cost, digits),
);
