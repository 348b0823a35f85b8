/**
 * The kinds of prices that a model can have. All are in US dollars: `request` for a thousand requests, the others for a
 * million tokens.
 */
export const priceKinds = [
  "input",
  "output",
  "cache_read",
  "cache_write",
  "cache_write_1h",
  "input_audio",
  "output_audio",
  "reasoning",
  "request",
] as const;

export type PriceKind = (typeof priceKinds)[number];

/**
 * A price that depends on the number of input tokens of the call: the price of the last tier whose `start` they exceed,
 * or else `base`. It applies to all tokens of the call, not only to those above `start`.
 */
export interface TieredRate {
  readonly base: number;
  readonly tiers: readonly { readonly start: number; readonly price: number }[];
}

/** A price of one of the {@link priceKinds}. It may depend on the number of input tokens of the call. */
export type Rate = number | TieredRate;

/** The prices of a model. Tokens of a kind without a price cost as much as the tokens that they are part of. */
export type ModelPrices = Readonly<Partial<Record<PriceKind, Rate>>>;

/** Returns the price that applies to a call with this number of input tokens. */
export function selectRate(rate: Rate, inputTokens: number): number {
  if (typeof rate === "number") {
    return rate;
  }
  return rate.tiers.findLast(({ start }) => inputTokens > start)?.price ?? rate.base;
}
