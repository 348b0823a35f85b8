/** The fewest digits after the point: whole cents. The most of one cost, and of all costs of a column. */
const [minDigits, maxDigits, maxColumnDigits] = [2, 12, 6];

// Creating a formatter takes longer than to render a cell of a table, so each is created once.
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

/** The digits after the point that a cost needs: two for a dollar or more, otherwise those of its significant digits. */
function countDigits(cost: number, significantDigits: number, most: number): number {
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
  formatDigits(cost, countDigits(cost, 3, maxDigits));

/**
 * Creates the format of a column of costs. All of them have as many digits after the point as the smallest needs, so
 * that they can be compared at a glance: `$9.3000`, `$0.0146`.
 */
export function createCostFormat(costs: readonly number[]): (cost: number) => string {
  const digits = costs.reduce(
    (most, cost) => Math.max(most, countDigits(cost, 2, maxColumnDigits)),
    minDigits,
  );
  return (cost) => formatDigits(cost, digits);
}
