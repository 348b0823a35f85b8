import type { CollectedRecord, CollectingClient } from "../tracing/collecting-client.ts";

// What mock models of the AI SDK return, in the form of versions 6 and 7, and how the recorded runs are read.

/** Of the ten input tokens, three were read from a cache and one was written to it. */
const usage = {
  inputTokens: { total: 10, noCache: 6, cacheRead: 3, cacheWrite: 1 },
  outputTokens: { total: 5, text: 4, reasoning: 1 },
};

/** The token counts above, as a run has them. */
export const usageMetadata = {
  input_tokens: 10,
  output_tokens: 5,
  total_tokens: 15,
  input_token_details: { cache_read: 3, cache_creation: 1 },
  output_token_details: { reasoning: 1 },
};

const finishAs = <Reason extends string>(reason: Reason) => ({
  unified: reason,
  raw: reason,
});

const toolCall = {
  type: "tool-call" as const,
  toolCallId: "call-1",
  toolName: "weather",
  input: '{"city":"Wien"}',
};

/** A response that calls the tool `weather`. */
export const toolResponse = () => ({
  content: [{ type: "text" as const, text: "Let me see." }, toolCall],
  finishReason: finishAs("tool-calls"),
  usage,
  warnings: [],
});

export const textResponse = (text = "It is 3 degrees.") => ({
  content: [{ type: "text" as const, text }],
  finishReason: finishAs("stop"),
  usage,
  warnings: [],
});

/** The chunks of a stream that calls the tool `weather`. */
export const toolChunks = () => [
  { type: "stream-start" as const, warnings: [] },
  { type: "text-start" as const, id: "1" },
  { type: "text-delta" as const, id: "1", delta: "Let me see." },
  { type: "text-end" as const, id: "1" },
  toolCall,
  { type: "finish" as const, finishReason: finishAs("tool-calls"), usage },
];

/** The chunks of a stream with a text, a chunk for each word. */
export const textChunks = (text = "It is 3 degrees.") => [
  { type: "stream-start" as const, warnings: [] },
  { type: "text-start" as const, id: "1" },
  ...text.split(/(?<= )/).map((delta) => ({ type: "text-delta" as const, id: "1", delta })),
  { type: "text-end" as const, id: "1" },
  { type: "finish" as const, finishReason: finishAs("stop"), usage },
];

/** A chunk of a stream above. */
export type Chunk = ReturnType<typeof toolChunks>[number] | ReturnType<typeof textChunks>[number];

/** A text of so many words that the AI SDK does not read to its end in advance. */
export const longText = Array.from({ length: 50 }, (_, index) => `word${index}`).join(" ");

/** The runs as an indented list of name, type and how they ended, in the order of their starts. */
export function describeTree(client: CollectingClient): readonly string[] {
  const starts = client.starts();
  const describe = (run: CollectedRecord, depth: number): readonly string[] => [
    `${"  ".repeat(depth)}${run.name} (${run.runType})${describeEnd(client, run)}`,
    ...starts
      .filter(({ parentRunId }) => parentRunId === run.id)
      .flatMap((child) => describe(child, depth + 1)),
  ];
  return starts
    .filter(({ parentRunId }) => !starts.some(({ id }) => id === parentRunId))
    .flatMap((root) => describe(root, 0));
}

function describeEnd(client: CollectingClient, { id }: CollectedRecord): string {
  const ends = client.ends().filter((end) => end.id === id);
  if (ends.length !== 1) {
    return ends.length === 0 ? " open" : ` ended ${ends.length} times`;
  }
  if (ends[0]?.error !== undefined) {
    return ` failed`;
  }
  return ends[0]?.metadata?.["millrace_cancelled"] === true ? " canceled" : "";
}
