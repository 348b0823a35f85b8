import { JsonText, parseJson } from "./json-text.ts";
import type { AttributeBag } from "./attribute-bag.ts";

/** Names of attributes that may contain the same number. The first one that exists is used. */
type AttributeNames = readonly string[];

const countAttributes: Readonly<Record<string, AttributeNames>> = {
  input_tokens: [
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "ai.usage.inputTokens",
    "ai.usage.promptTokens",
    "ai.usage.tokens",
    "llm.token_count.prompt",
    "llm.usage.prompt_tokens",
  ],
  output_tokens: [
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "ai.usage.outputTokens",
    "ai.usage.completionTokens",
    "llm.token_count.completion",
    "llm.usage.completion_tokens",
  ],
  total_tokens: [
    "gen_ai.usage.total_tokens",
    "ai.usage.totalTokens",
    "llm.token_count.total",
    "llm.usage.total_tokens",
  ],
};

/** Attributes with costs in US dollars, by the names that usage metadata has for them. */
const costAttributes: Readonly<Record<string, AttributeNames>> = {
  input_cost: ["llm.cost.prompt"],
  output_cost: ["llm.cost.completion"],
  total_cost: ["llm.cost.total", "gen_ai.usage.cost"],
};

const detailAttributes: Readonly<Record<string, Readonly<Record<string, AttributeNames>>>> = {
  input_token_details: {
    cache_read: [
      "gen_ai.usage.cache_read.input_tokens",
      "gen_ai.usage.cache_read_input_tokens",
      "gen_ai.usage.input_tokens.cached",
      "gen_ai.usage.details.cache_read_tokens",
      "ai.usage.inputTokenDetails.cacheReadTokens",
      "ai.usage.cachedInputTokens",
      "llm.token_count.prompt_details.cache_read",
    ],
    cache_creation: [
      "gen_ai.usage.cache_write.input_tokens",
      "gen_ai.usage.cache_creation.input_tokens",
      "gen_ai.usage.cache_creation_input_tokens",
      "gen_ai.usage.input_tokens.cache_write",
      "gen_ai.usage.details.cache_write_tokens",
      "ai.usage.inputTokenDetails.cacheWriteTokens",
      "llm.token_count.prompt_details.cache_write",
    ],
    audio: ["llm.token_count.prompt_details.audio"],
  },
  output_token_details: {
    reasoning: [
      "gen_ai.usage.reasoning.output_tokens",
      "gen_ai.usage.output_tokens.reasoning",
      "gen_ai.usage.details.reasoning_tokens",
      "gen_ai.usage.reasoning_tokens",
      "ai.usage.outputTokenDetails.reasoningTokens",
      "ai.usage.reasoningTokens",
      "llm.token_count.completion_details.reasoning",
    ],
    audio: ["llm.token_count.completion_details.audio"],
  },
};

/**
 * Takes the token counts and the costs that a span reports, with the names that runs use; `undefined` if it reports
 * none. The input tokens include those that were read from a cache or written to it.
 */
export function takeUsage(bag: AttributeBag): Readonly<Record<string, unknown>> | undefined {
  const usage: Record<string, unknown> = { ...bag.takeObject("langsmith.usage_metadata") };
  const hasWholeCount = usage["input_tokens"] !== undefined;
  for (const [name, attributeNames] of Object.entries(countAttributes)) {
    usage[name] ??= takeCount(bag, attributeNames);
  }
  for (const [name, attributeNamesByDetail] of Object.entries(detailAttributes)) {
    usage[name] ??= takeDetails(bag, name, attributeNamesByDetail);
  }
  if (!hasWholeCount) {
    includeCachedTokens(bag, usage);
  }
  const [input, output] = [toCount(usage["input_tokens"]), toCount(usage["output_tokens"])];
  if (input !== undefined || output !== undefined) {
    usage["total_tokens"] ??= (input ?? 0) + (output ?? 0);
  }
  for (const [name, attributeNames] of Object.entries(costAttributes)) {
    usage[name] ??= takeCost(bag, attributeNames);
  }
  const reported = Object.entries(usage).filter(([, value]) => value !== undefined);
  return reported.length === 0 ? undefined : Object.fromEntries(reported);
}

/**
 * Adds the cached tokens to the input tokens if the span reports input tokens without them: if there are more cached
 * tokens than input tokens, or if the AI SDK reports the number that Anthropic's API calls `input_tokens`. In all other
 * cases the input tokens include them, as the semantic conventions require.
 */
function includeCachedTokens(bag: AttributeBag, usage: Record<string, unknown>): void {
  const input = toCount(usage["input_tokens"]);
  const details = usage["input_token_details"] ?? {};
  if (input === undefined || !isObject(details)) {
    return;
  }
  const anthropic = readAnthropicUsage(bag, input);
  const cacheRead = toCount(details["cache_read"]) ?? anthropic?.cacheRead ?? 0;
  const cacheWritten = toCount(details["cache_creation"]) ?? anthropic?.cacheWritten ?? 0;
  if (cacheRead + cacheWritten === 0) {
    return;
  }
  usage["input_token_details"] = {
    ...details,
    ...(cacheRead === 0 ? {} : { cache_read: cacheRead }),
    ...(cacheWritten === 0 ? {} : { cache_creation: cacheWritten }),
  };
  if (cacheRead + cacheWritten <= input && anthropic?.input !== input) {
    return;
  }
  const inclusiveInput = input + cacheRead + cacheWritten;
  usage["input_tokens"] = inclusiveInput;
  const [output, total] = [toCount(usage["output_tokens"]) ?? 0, toCount(usage["total_tokens"])];
  if (total !== undefined && total < inclusiveInput + output) {
    usage["total_tokens"] = inclusiveInput + output;
  }
}

/** The numbers of Anthropic's API. Its input tokens do not include the cached ones. */
interface AnthropicUsage {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWritten: number;
}

/**
 * Reads the usage of Anthropic's API from the metadata that the AI SDK records. Version 5 of the AI SDK reports input
 * tokens without the cached ones, and does not report the written ones elsewhere. Returns `undefined` if these numbers
 * do not match the input tokens of the span: after an operation with several model calls, the metadata describes only
 * the last call.
 */
function readAnthropicUsage(bag: AttributeBag, inputTokens: number): AnthropicUsage | undefined {
  const text = bag.peekText("ai.response.providerMetadata");
  const metadata = text === undefined ? undefined : parseJson(text);
  const anthropic = isObject(metadata) ? metadata["anthropic"] : undefined;
  const usage = isObject(anthropic) ? anthropic["usage"] : undefined;
  if (!isObject(usage)) {
    return undefined;
  }
  const readCount = (name: string): number => toCount(usage[name]) ?? 0;
  const input = readCount("input_tokens");
  const cacheRead = readCount("cache_read_input_tokens");
  const cacheWritten = readCount("cache_creation_input_tokens");
  return inputTokens === input || inputTokens === input + cacheRead + cacheWritten
    ? { input, cacheRead, cacheWritten }
    : undefined;
}

function takeDetails(
  bag: AttributeBag,
  name: string,
  attributeNamesByDetail: Readonly<Record<string, AttributeNames>>,
): unknown {
  const reportedDetails = bag.takeObject(`gen_ai.usage.${name}`);
  if (reportedDetails !== undefined) {
    return reportedDetails;
  }
  const foundDetails = Object.entries(attributeNamesByDetail)
    .map(([detail, attributeNames]) => [detail, takeCount(bag, attributeNames)] as const)
    .filter(([, count]) => count !== undefined);
  return foundDetails.length === 0 ? undefined : Object.fromEntries(foundDetails);
}

const takeCount = (bag: AttributeBag, attributeNames: AttributeNames): number | undefined =>
  takeNumber(bag, attributeNames, { read: toCount, problem: "is not a number of tokens" });

const takeCost = (bag: AttributeBag, attributeNames: AttributeNames): number | undefined =>
  takeNumber(bag, attributeNames, { read: toCost, problem: "is not a cost in US dollars" });

interface NumberKind {
  /** Returns `undefined` if the value is not a number of this kind. */
  readonly read: (value: unknown) => number | undefined;
  readonly problem: string;
}

/**
 * Takes the number from the first attribute that has one. Other attributes with the same number are also removed. An
 * attribute that is not a number of this kind stays, with a warning.
 */
function takeNumber(
  bag: AttributeBag,
  attributeNames: AttributeNames,
  { read, problem }: NumberKind,
): number | undefined {
  const numbers = attributeNames.map((name) => {
    const value = bag.peek(name);
    const number = read(value);
    if (number === undefined && value !== undefined && value !== null) {
      bag.warn(name, problem, value);
    }
    return number;
  });
  const number = numbers.find((value) => value !== undefined);
  attributeNames
    .filter((_, index) => number !== undefined && numbers[index] === number)
    .forEach((name) => bag.take(name));
  return number;
}

/** Reads a number of tokens from a number, a decimal text, or JSON text; `undefined` if it can't be one. */
function toCount(value: unknown): number | undefined {
  const count = toNumber(value);
  return Number.isSafeInteger(count) && Number(count) >= 0 ? count : undefined;
}

/**
 * Reads a cost like {@link toCount}. Values above `Number.MAX_SAFE_INTEGER`, which no cost reaches, are refused, so
 * that sums of costs stay finite.
 */
function toCost(value: unknown): number | undefined {
  const cost = toNumber(value);
  return cost !== undefined && cost >= 0 && cost <= Number.MAX_SAFE_INTEGER ? cost : undefined;
}

function toNumber(value: unknown): number | undefined {
  const text = value instanceof JsonText ? value.text : value;
  const number = typeof text === "string" && text.trim() !== "" ? Number(text) : text;
  return typeof number === "number" ? number : undefined;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof JsonText);
