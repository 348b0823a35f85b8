import { toJson } from "./json-text.ts";
import type { AttributeBag } from "./attribute-bag.ts";
import type { AttributeValue } from "./span.ts";

/** Names of attributes that may contain the same number. The first one that exists is used. */
type AttributeNames = readonly string[];

const countAttributes: Readonly<Record<string, AttributeNames>> = {
  input_tokens: [
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
    "llm.usage.prompt_tokens",
  ],
  output_tokens: [
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
    "llm.usage.completion_tokens",
  ],
  total_tokens: ["gen_ai.usage.total_tokens", "llm.token_count.total", "llm.usage.total_tokens"],
};

const detailAttributes: Readonly<Record<string, Readonly<Record<string, AttributeNames>>>> = {
  input_token_details: {
    cache_read: [
      "gen_ai.usage.cache_read.input_tokens",
      "gen_ai.usage.cache_read_input_tokens",
      "llm.token_count.prompt_details.cache_read",
    ],
    cache_creation: [
      "gen_ai.usage.cache_creation.input_tokens",
      "gen_ai.usage.cache_creation_input_tokens",
      "llm.token_count.prompt_details.cache_write",
    ],
    audio: ["llm.token_count.prompt_details.audio"],
  },
  output_token_details: {
    reasoning: [
      "gen_ai.usage.reasoning.output_tokens",
      "gen_ai.usage.details.reasoning_tokens",
      "gen_ai.usage.reasoning_tokens",
      "llm.token_count.completion_details.reasoning",
    ],
    audio: ["llm.token_count.completion_details.audio"],
  },
};

/** Takes the token counts that a span reports, with the names that runs use; `undefined` if it reports none. */
export function takeUsage(bag: AttributeBag): Readonly<Record<string, unknown>> | undefined {
  const usage: Record<string, unknown> = { ...bag.takeObject("langsmith.usage_metadata") };
  for (const [name, attributeNames] of Object.entries(countAttributes)) {
    usage[name] ??= takeCount(bag, attributeNames);
  }
  const [input, output] = [usage["input_tokens"], usage["output_tokens"]];
  if (input !== undefined && output !== undefined) {
    usage["total_tokens"] ??= Number(toJson(input)) + Number(toJson(output));
  }
  for (const [name, attributeNamesByDetail] of Object.entries(detailAttributes)) {
    usage[name] ??= takeDetails(bag, name, attributeNamesByDetail);
  }
  const reported = Object.entries(usage).filter(([, value]) => value !== undefined);
  return reported.length === 0 ? undefined : Object.fromEntries(reported);
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
  const found = Object.entries(attributeNamesByDetail)
    .map(([detail, attributeNames]) => [detail, takeCount(bag, attributeNames)] as const)
    .filter(([, count]) => count !== undefined);
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

/** Takes the count from the first attribute that has one. Other attributes with the same count are also removed. */
function takeCount(bag: AttributeBag, attributeNames: AttributeNames): number | undefined {
  const found = attributeNames.map((name) => toCount(bag.peek(name)));
  const count = found.find((value) => value !== undefined);
  attributeNames
    .filter((_, index) => count !== undefined && found[index] === count)
    .forEach((name) => bag.take(name));
  return count;
}

function toCount(value: AttributeValue | undefined): number | undefined {
  const count = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof count === "number" && Number.isFinite(count) ? count : undefined;
}
