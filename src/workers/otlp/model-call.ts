import { toChatMessages, toParts } from "./chat-messages.ts";
import type { ChatMessage, MessagePart } from "./chat-messages.ts";
import { firstNumber, firstText, sumOfNumbers, toItems, toMembers } from "./json-value.ts";
import type { Members } from "./json-value.ts";

/** Numbers of tokens. `input` includes those that were read from a cache or written to it. */
export interface TokenUsage {
  readonly input?: number | undefined;
  readonly output?: number | undefined;
  readonly total?: number | undefined;
  readonly cacheRead?: number | undefined;
  readonly cacheWrite?: number | undefined;
  readonly reasoning?: number | undefined;
}

/** What a call cost, in US dollars, as far as the run reports it. */
export interface CallCost {
  readonly input: number | undefined;
  readonly output: number | undefined;
  readonly total: number | undefined;
}

/**
 * The facts about a model call that the conventions for attributes describe, independent of the API that was called.
 */
export interface ModelCall {
  readonly provider: string | undefined;
  readonly requestModel: string | undefined;
  readonly responseModel: string | undefined;
  readonly responseId: string | undefined;
  readonly finishReasons: readonly string[];
  readonly usage: TokenUsage;
  readonly cost: CallCost;
  /** The parameters of the request, without messages and tools. */
  readonly params: Members;
  readonly tools: readonly unknown[];
  readonly instructions: readonly MessagePart[];
  readonly inputMessages: readonly ChatMessage[];
  readonly outputMessages: readonly ChatMessage[];
}

/** The values of a run from which a {@link ModelCall} is read. */
export interface ModelPayloads {
  readonly inputs: unknown;
  readonly outputs: unknown;
  readonly extra: unknown;
}

/** Members of a request that are not parameters: its content, and members that have their own attributes. */
const contentNames = new Set([
  "messages",
  "input",
  "contents",
  "prompt",
  "prompts",
  "system",
  "instructions",
  "systemInstruction",
  "tools",
  "model",
]);

/**
 * Decimal digits that a double represents exactly. A sum of costs is rounded to them, because further digits come only
 * from binary rounding.
 */
const exactDigits = 15;

/** Reads a call of a model from the payloads of a run, which may have the form of any API. */
export function readModelCall({ inputs, outputs, extra }: ModelPayloads): ModelCall {
  const request = toMembers(inputs);
  const response = toMembers(outputs);
  const { metadata, invocation_params: invocationParams } = toMembers(extra);
  const runMetadata = toMembers(metadata);
  const params = { ...request, ...toMembers(invocationParams) };
  const outputMessages = readOutputMessages(response);
  const reasons = outputMessages.flatMap(({ finishReason }) => finishReason ?? []);
  const ownReason = firstText(response["finish_reason"], response["stop_reason"]);
  return {
    provider: firstText(runMetadata["ls_provider"]),
    requestModel: firstText(params["model"], runMetadata["ls_model_name"]),
    responseModel: firstText(response["model"], response["modelVersion"]),
    responseId: firstText(response["id"], response["responseId"]),
    finishReasons: reasons.length > 0 || ownReason === undefined ? reasons : [ownReason],
    usage: readUsage(response, runMetadata),
    cost: readCost(response, runMetadata),
    params: Object.fromEntries([
      ...Object.entries(params).filter(([name]) => !contentNames.has(name)),
      ...toNamedParams(runMetadata),
    ]),
    tools: toItems(params["tools"]),
    instructions: toParts(readInstructions(request)),
    inputMessages: readInputMessages(request),
    outputMessages,
  };
}

/** The metadata in which LangChain and LangSmith store parameters, and the names of these parameters. */
const namedParams: readonly (readonly [string, string])[] = [
  ["ls_temperature", "temperature"],
  ["ls_max_tokens", "max_tokens"],
  ["ls_stop", "stop"],
];

const toNamedParams = (metadata: Members): readonly (readonly [string, unknown])[] =>
  namedParams.flatMap(([key, name]) =>
    metadata[key] === undefined ? [] : [[name, metadata[key]] as const],
  );

function readInstructions({ system, instructions, systemInstruction }: Members): unknown {
  const { parts } = toMembers(systemInstruction);
  return system ?? instructions ?? parts ?? systemInstruction;
}

function readInputMessages(request: Members): readonly ChatMessage[] {
  const { messages, input, contents, prompt, prompts } = request;
  return toChatMessages(messages ?? input ?? contents ?? prompt ?? prompts, "user");
}

function readOutputMessages(response: Members): readonly ChatMessage[] {
  const { choices, messages, output, candidates, generations, role, content, text } = response;
  const messageList = choices ?? candidates ?? messages ?? generations ?? output;
  if (messageList !== undefined) {
    return toChatMessages(messageList, "assistant");
  }
  // The response itself is a message, as Anthropic's API and some programs return it.
  return role !== undefined || content !== undefined || text !== undefined
    ? toChatMessages({ ...response, type: "message" }, "assistant")
    : [];
}

function readUsage(response: Members, metadata: Members): TokenUsage {
  const recordedUsage = toMembers(response["usage_metadata"] ?? metadata["usage_metadata"]);
  if (Object.keys(recordedUsage).length > 0) {
    const { input_token_details: inputDetails, output_token_details: outputDetails } =
      recordedUsage;
    return {
      input: firstNumber(recordedUsage["input_tokens"]),
      output: firstNumber(recordedUsage["output_tokens"]),
      total: firstNumber(recordedUsage["total_tokens"]),
      cacheRead: firstNumber(toMembers(inputDetails)["cache_read"]),
      cacheWrite: firstNumber(toMembers(inputDetails)["cache_creation"]),
      reasoning: firstNumber(toMembers(outputDetails)["reasoning"]),
    };
  }
  return readProviderUsage(response);
}

/**
 * Reads the costs that a run reports with its tokens. The outputs may report only tokens, and the metadata the costs.
 */
function readCost(response: Members, metadata: Members): CallCost {
  const usages = [response["usage_metadata"], metadata["usage_metadata"]].map(toMembers);
  const read = (name: string): number | undefined =>
    firstNumber(...usages.map((usage) => usage[name]));
  const [input, output] = [read("input_cost"), read("output_cost")];
  const sum =
    input === undefined || output === undefined
      ? undefined
      : Number((input + output).toPrecision(exactDigits));
  return { input, output, total: read("total_cost") ?? sum };
}

/** Reads the numbers of tokens in the form of OpenAI's, Anthropic's or Gemini's API. */
function readProviderUsage({ usage, usageMetadata }: Members): TokenUsage {
  const { prompt_tokens_details: promptDetails, input_tokens_details: inputDetails } =
    toMembers(usage);
  const { completion_tokens_details: completionDetails, output_tokens_details: outputDetails } =
    toMembers(usage);
  const usageCounts = toMembers(usage);
  const geminiUsage = toMembers(usageMetadata);
  const cacheWrite = firstNumber(usageCounts["cache_creation_input_tokens"]);
  const anthropicRead = firstNumber(usageCounts["cache_read_input_tokens"]);
  const input = firstNumber(
    usageCounts["prompt_tokens"],
    usageCounts["input_tokens"],
    sumOfNumbers(geminiUsage["promptTokenCount"], geminiUsage["toolUsePromptTokenCount"]),
  );
  return {
    // Anthropic's API does not count cached tokens as input tokens.
    input: input === undefined ? undefined : input + (cacheWrite ?? 0) + (anthropicRead ?? 0),
    output: firstNumber(
      usageCounts["completion_tokens"],
      usageCounts["output_tokens"],
      // Gemini's API counts the tokens of thoughts beside those of the candidates.
      sumOfNumbers(geminiUsage["candidatesTokenCount"], geminiUsage["thoughtsTokenCount"]),
    ),
    total: firstNumber(usageCounts["total_tokens"], geminiUsage["totalTokenCount"]),
    cacheRead: firstNumber(
      toMembers(promptDetails)["cached_tokens"],
      toMembers(inputDetails)["cached_tokens"],
      anthropicRead,
      geminiUsage["cachedContentTokenCount"],
    ),
    cacheWrite,
    reasoning: firstNumber(
      toMembers(completionDetails)["reasoning_tokens"],
      toMembers(outputDetails)["reasoning_tokens"],
      geminiUsage["thoughtsTokenCount"],
    ),
  };
}
