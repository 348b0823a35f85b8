import { toJson } from "./json-text.ts";
import type { AttributeBag } from "./attribute-bag.ts";
import type { AttributeValue } from "./span.ts";

type Names = readonly string[];

const counts: Readonly<Record<string, Names>> = {
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

const details: Readonly<Record<string, Readonly<Record<string, Names>>>> = {
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

/** The tokens that a span reports, with the names of runs; `undefined` where it reports none. */
export function takeUsage(bag: AttributeBag): Readonly<Record<string, unknown>> | undefined {
  const usage: Record<string, unknown> = { ...bag.takeObject("langsmith.usage_metadata") };
  for (const [name, sources] of Object.entries(counts)) {
    usage[name] ??= takeCount(bag, sources);
  }
  const [input, output] = [usage["input_tokens"], usage["output_tokens"]];
  if (input !== undefined && output !== undefined) {
    usage["total_tokens"] ??= Number(toJson(input)) + Number(toJson(output));
  }
  for (const [name, parts] of Object.entries(details)) {
    usage[name] ??= takeDetails(bag, name, parts);
  }
  const said = Object.entries(usage).filter(([, value]) => value !== undefined);
  return said.length === 0 ? undefined : Object.fromEntries(said);
}

function takeDetails(
  bag: AttributeBag,
  name: string,
  parts: Readonly<Record<string, Names>>,
): unknown {
  const told = bag.takeObject(`gen_ai.usage.${name}`);
  if (told !== undefined) {
    return told;
  }
  const found = Object.entries(parts)
    .map(([part, sources]) => [part, takeCount(bag, sources)] as const)
    .filter(([, count]) => count !== undefined);
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

/** The first count that one of the sources holds. Others that say the same go with it. */
function takeCount(bag: AttributeBag, sources: Names): number | undefined {
  const found = sources.map((name) => toCount(bag.peek(name)));
  const count = found.find((value) => value !== undefined);
  sources
    .filter((_, index) => count !== undefined && found[index] === count)
    .forEach((name) => bag.take(name));
  return count;
}

function toCount(value: AttributeValue | undefined): number | undefined {
  const count = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof count === "number" && Number.isFinite(count) ? count : undefined;
}
