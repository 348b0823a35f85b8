import type { ModelRequest } from "./model-request.ts";

/** Characters per token to assume. Most tokens have more, so the estimate is more likely too high than too low. */
const charsPerToken = 3;
const tokensPerMessage = 8;
const tokensPerImage = 1_500;
/** The output tokens to assume for a request that sets no limit. */
export const assumedOutputTokens = 4_096;

/** Estimates how many tokens a request can cost at most, before it is sent. */
export function estimateTokens(request: ModelRequest): {
  readonly inputTokens: number;
  readonly outputTokens: number;
} {
  const { messages, tools = [], outputSchema, settings = {} } = request;
  let chars = tools.length === 0 ? 0 : JSON.stringify(tools).length;
  chars += outputSchema === undefined ? 0 : JSON.stringify(outputSchema).length;
  let images = 0;
  for (const { content, toolCalls = [], images: addresses = [] } of messages) {
    images += addresses.length;
    chars += content.length;
    chars += toolCalls.reduce((sum, call) => sum + call.name.length + call.arguments.length, 0);
  }
  return {
    inputTokens:
      estimateTextTokens(chars) + messages.length * tokensPerMessage + images * tokensPerImage,
    outputTokens: settings.maxTokens ?? assumedOutputTokens,
  };
}

/** Estimates the tokens of a text with this many characters. */
export const estimateTextTokens = (chars: number): number => Math.ceil(chars / charsPerToken);
