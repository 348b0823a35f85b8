import { formatRate, priceKinds } from "./price.ts";
import type { Rates } from "./price.ts";

/** Describes all prices except the input and the output price: `cached input 0.5 · reasoning 3`. */
export const describeOtherRates = (prices: Rates): string =>
  priceKinds
    .filter(([kind]) => kind !== "input" && kind !== "output" && prices[kind] !== undefined)
    .map(([kind, label]) => `${label.toLowerCase()} ${formatRate(prices[kind])}`)
    .join(" · ");
