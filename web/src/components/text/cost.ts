const smallFormat = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const usualFormat = new Intl.NumberFormat("en", {
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
});

/** Costs from this one on are shown in whole cents. Smaller ones have three significant digits. */
const centsFrom = 1;

/** Formats a cost in US dollars: `$12.30`, `$0.00351`. */
export const formatDollars = (cost: number): string =>
  `$${(Math.abs(cost) < centsFrom ? smallFormat : usualFormat).format(cost)}`;
