const smallFormat = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const usualFormat = new Intl.NumberFormat("en", {
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
});

/** Costs of at least this many dollars are rounded to whole cents. Smaller ones have three significant digits. */
const minRoundedDollars = 1;

/** Formats a cost in US dollars: `$12.30`, `$0.50`, `$0.00351`. */
export function formatDollars(cost: number): string {
  const text = (Math.abs(cost) < minRoundedDollars ? smallFormat : usualFormat).format(cost);
  return `$${/\.\d$/.test(text) ? `${text}0` : text}`;
}
