/** What a run may report of its usage, by the names of its answer. */
export const usageNames = [
  "total_tokens",
  "prompt_tokens",
  "completion_tokens",
  "total_cost",
  "prompt_cost",
  "completion_cost",
] as const;

export type UsageName = (typeof usageNames)[number];

/** A place in a run, and the names that numbers have there. */
export interface UsageSource {
  readonly root: "outputs" | "metadata";
  /** The members that lead on from there; an index leads into a list. */
  readonly steps: readonly (string | number)[];
  readonly names: Readonly<Partial<Record<UsageName, string>>>;
}

const usageMetadata = {
  total_tokens: "total_tokens",
  prompt_tokens: "input_tokens",
  completion_tokens: "output_tokens",
  total_cost: "total_cost",
  prompt_cost: "input_cost",
  completion_cost: "output_cost",
};
const camelCase = {
  total_tokens: "totalTokens",
  prompt_tokens: "promptTokens",
  completion_tokens: "completionTokens",
};
const snakeCase = {
  total_tokens: "total_tokens",
  prompt_tokens: "prompt_tokens",
  completion_tokens: "completion_tokens",
};

/** Where runs report their usage; for each number the first place that holds one counts. */
export const usageSources: readonly UsageSource[] = [
  { root: "outputs", steps: ["usage_metadata"], names: usageMetadata },
  { root: "metadata", steps: ["usage_metadata"], names: usageMetadata },
  // LangChain: of chat models in its message, of older models beside the generations.
  {
    root: "outputs",
    steps: ["generations", 0, 0, "message", "kwargs", "usage_metadata"],
    names: usageMetadata,
  },
  { root: "outputs", steps: ["llmOutput", "tokenUsage"], names: camelCase },
  { root: "outputs", steps: ["llm_output", "token_usage"], names: snakeCase },
  { root: "outputs", steps: ["llm_output", "tokenUsage"], names: camelCase },
];

/**
 * What the JSON of a run that reports usage has in it: ends of the members' names. They begin with
 * characters that are rare in text, for which a search is several times as fast.
 */
export const usageMarks: Readonly<Record<UsageSource["root"], readonly string[]>> = {
  outputs: ['_metadata"', '_usage"', 'Usage"'],
  metadata: ['_metadata"'],
};
