import { roundCost } from "../runs/usage/run-cost.ts";
import type { CostDetails, TokenDetails } from "../runs/usage/run-cost.ts";
import { selectRate } from "./model-prices.ts";
import type { ModelPrices, PriceKind } from "./model-prices.ts";

/** The tokens of a model call. */
export interface TokenUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly details: TokenDetails;
}

/** The cost of a model call in US dollars. */
export interface UsageCost {
  readonly total: number;
  readonly prompt: number;
  readonly completion: number;
  /** The parts of `prompt` and `completion` that are known, by the names of the token details. */
  readonly input: CostDetails;
  readonly output: CostDetails;
}

/** Why a cost can't be computed, as a sentence. */
export interface NoCost {
  readonly reason: string;
}

/** Tokens with a price of their own, which are part of the input or output tokens. */
interface TokenPart {
  readonly name: string;
  readonly tokens: number;
  /** The kinds of prices for these tokens, in order of precedence: the first one that the model has is used. */
  readonly kinds: readonly PriceKind[];
}

/**
 * Computes the cost of tokens. `factor` multiplies all prices. Returns a reason if the usage contradicts itself, or if
 * the model has no price for some of the tokens.
 */
export function computeCost(
  usage: TokenUsage,
  prices: ModelPrices,
  factor = 1,
): UsageCost | NoCost {
  const { inputTokens, outputTokens, details } = usage;
  const { cacheRead, cacheWrite, cacheWriteHour, inputAudio, reasoning, outputAudio } = details;
  const inputParts: readonly TokenPart[] = [
    { name: "cache_read", tokens: cacheRead, kinds: ["cache_read", "input"] },
    {
      name: "cache_creation",
      tokens: cacheWrite - cacheWriteHour,
      kinds: ["cache_write", "input"],
    },
    {
      name: "cache_creation",
      tokens: cacheWriteHour,
      kinds: ["cache_write_1h", "cache_write", "input"],
    },
    { name: "audio", tokens: inputAudio, kinds: ["input_audio", "input"] },
  ];
  const outputParts: readonly TokenPart[] = [
    { name: "reasoning", tokens: reasoning, kinds: ["reasoning", "output"] },
    { name: "audio", tokens: outputAudio, kinds: ["output_audio", "output"] },
  ];
  const reason =
    findContradiction("input", inputTokens, inputParts) ??
    findContradiction("output", outputTokens, outputParts);
  if (reason !== undefined) {
    return { reason };
  }
  const context = { prices, inputTokens, factor };
  const input = sumParts("input", { total: inputTokens, parts: inputParts }, context);
  const output = sumParts("output", { total: outputTokens, parts: outputParts }, context);
  if ("reason" in input) {
    return input;
  }
  if ("reason" in output) {
    return output;
  }
  const { request = 0 } = prices;
  const requestCost = (selectRate(request, inputTokens) * factor) / 1_000;
  return {
    total: roundCost(input.cost + output.cost + requestCost),
    prompt: roundCost(input.cost),
    completion: roundCost(output.cost),
    input: input.details,
    output: output.details,
  };
}

function findContradiction(
  side: "input" | "output",
  total: number,
  parts: readonly TokenPart[],
): string | undefined {
  const counts = [total, ...parts.map(({ tokens }) => tokens)];
  const invalid = counts.find((count) => !(count >= 0 && count <= Number.MAX_SAFE_INTEGER));
  if (invalid !== undefined) {
    return `The usage contradicts itself: ${invalid} is not a number of ${side} tokens.`;
  }
  const partTokens = parts.reduce((sum, { tokens }) => sum + tokens, 0);
  if (partTokens <= total) {
    return undefined;
  }
  const names = [...new Set(parts.filter(({ tokens }) => tokens > 0).map(({ name }) => name))];
  return `The usage contradicts itself: ${partTokens} tokens (${names.join(", ")}) are more than the ${total} ${side} tokens that they are part of.`;
}

interface PriceContext {
  readonly prices: ModelPrices;
  readonly inputTokens: number;
  readonly factor: number;
}

function sumParts(
  side: "input" | "output",
  { total, parts }: { readonly total: number; readonly parts: readonly TokenPart[] },
  { prices, inputTokens, factor }: PriceContext,
): { readonly cost: number; readonly details: CostDetails } | NoCost {
  const partTokens = parts.reduce((sum, { tokens }) => sum + tokens, 0);
  const remainingPart: TokenPart = { name: "", tokens: total - partTokens, kinds: [side] };
  const details: Record<string, number> = {};
  let cost = 0;
  for (const { name, tokens, kinds } of [...parts, remainingPart]) {
    if (tokens === 0) {
      continue;
    }
    const rate = kinds.map((kind) => prices[kind]).find((price) => price !== undefined);
    if (rate === undefined) {
      return { reason: `The model has no price for ${side} tokens.` };
    }
    const partCost = (selectRate(rate, inputTokens) * factor * tokens) / 1_000_000;
    cost += partCost;
    if (name !== "") {
      details[name] = roundCost((details[name] ?? 0) + partCost);
    }
  }
  return { cost, details };
}
