/** Usage numbers that a run may report, by their names in responses. */
export const usageNames = [
  "total_tokens",
  "prompt_tokens",
  "completion_tokens",
  "total_cost",
  "prompt_cost",
  "completion_cost",
] as const;

/** The names in {@link usageNames} that are costs. */
export const usageCosts = ["total_cost", "prompt_cost", "completion_cost"] as const;

export type UsageName = (typeof usageNames)[number];

/** A path in a run at which usage is reported, and the names of its numbers there. */
export interface UsageSource {
  readonly root: "outputs" | "metadata";
  /** The path below the root. A string is the name of a member, a number an index into a list. */
  readonly steps: readonly (string | number)[];
  readonly names: Readonly<Partial<Record<UsageName, string>>>;
}

const usageMetadataNames = {
  total_tokens: "total_tokens",
  prompt_tokens: "input_tokens",
  completion_tokens: "output_tokens",
  total_cost: "total_cost",
  prompt_cost: "input_cost",
  completion_cost: "output_cost",
};
const camelCaseNames = {
  total_tokens: "totalTokens",
  prompt_tokens: "promptTokens",
  completion_tokens: "completionTokens",
};
const snakeCaseNames = {
  total_tokens: "total_tokens",
  prompt_tokens: "prompt_tokens",
  completion_tokens: "completion_tokens",
};

/** The paths at which runs report their usage. For each number, the first path that has it is used. */
export const usageSources: readonly UsageSource[] = [
  { root: "outputs", steps: ["usage_metadata"], names: usageMetadataNames },
  { root: "metadata", steps: ["usage_metadata"], names: usageMetadataNames },
  // LangChain chat models report usage in the message; older models report it next to the generations.
  {
    root: "outputs",
    steps: ["generations", 0, 0, "message", "kwargs", "usage_metadata"],
    names: usageMetadataNames,
  },
  { root: "outputs", steps: ["llmOutput", "tokenUsage"], names: camelCaseNames },
  { root: "outputs", steps: ["llm_output", "token_usage"], names: snakeCaseNames },
  { root: "outputs", steps: ["llm_output", "tokenUsage"], names: camelCaseNames },
];

/**
 * Byte sequences, one of which occurs in the JSON of every run that reports usage: the ends of member names. They begin
 * with characters that are rare in text, which makes the search several times as fast.
 */
export const usageMarkers: Readonly<Record<UsageSource["root"], readonly string[]>> = {
  outputs: ['_metadata"', '_usage"', 'Usage"'],
  metadata: ['_metadata"'],
};

/** Returns the value if it can be a number of tokens; `undefined` otherwise. */
export const toCount = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
