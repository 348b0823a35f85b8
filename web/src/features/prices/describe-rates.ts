import { formatRate, priceKinds } from "./price.ts";
import type { Rates } from "./price.ts";

/** Describes the prices other than those of input and output: `cached input 0.5 · reasoning 3`. */
export const describeOtherRates = (prices: Rates): string =>
  priceKinds
    .filter(([kind]) => kind !== "input" && kind !== "output" && prices[kind] !== undefined)
    .map(([kind, label]) => `${label.toLowerCase()} ${formatRate(prices[kind])}`)
    .join(" · ");
