/** A place in a run: `outputs` or its metadata, and the members that lead from there to a number. */
export type TokenPath = readonly ["outputs" | "metadata", ...string[]];

const pathsOf = (usage: string, camel: string, snake: string): readonly TokenPath[] => [
  ["outputs", "usage_metadata", usage],
  ["metadata", "usage_metadata", usage],
  // The two ways of writing that older models of LangChain have.
  ["outputs", "llmOutput", "tokenUsage", camel],
  ["outputs", "llm_output", "token_usage", snake],
];

/** Where runs report their usage; the first place that holds a number counts. */
export const tokenPaths: Readonly<Record<string, readonly TokenPath[]>> = {
  total_tokens: pathsOf("total_tokens", "totalTokens", "total_tokens"),
  prompt_tokens: pathsOf("input_tokens", "promptTokens", "prompt_tokens"),
  completion_tokens: pathsOf("output_tokens", "completionTokens", "completion_tokens"),
};
