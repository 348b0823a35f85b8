import type { AnswerBuilder } from "../answer-builder.ts";
import { toCount } from "../../runs/usage/usage-sources.ts";
import { toList, toObject, toText, withoutUndefined } from "../json-value.ts";
import type { JsonObject } from "../json-value.ts";
import type { FinishReason, ModelUsage } from "../model-answer.ts";
import type { ModelMessage, ModelRequest } from "../model-request.ts";
import type { Protocol } from "./protocol.ts";

/** OpenAI's Chat Completions API, which other servers have, too. */
export const openAiChat: Protocol = {
  createHeaders: (key) => (key === undefined ? {} : { authorization: `Bearer ${key}` }),
  createBody: (request, host) => ({
    ...createChatBody(request, host),
    stream: true,
    stream_options: { include_usage: true },
  }),
  readEvent,
  readResponse: (response, answer) => {
    readEvent(response, answer);
    // A whole response is complete even if it names no finish reason.
    answer.isFinished ||= toList(response["choices"]).length > 0;
  },
};

/**
 * Matches hosts at which the limit on output tokens is named `max_completion_tokens`: OpenAI's models refuse the older
 * name `max_tokens`, and other servers may not support the newer one.
 */
const newerLimitHostPattern = /(?:^|\.)openai(?:\.azure)?\.com$/;

/** The body of a request that does not stream, as OpenAI's API takes it. Runs record it as their inputs. */
export function createChatBody(request: ModelRequest, host = ""): JsonObject {
  const { model, messages, tools = [], outputSchema, settings = {} } = request;
  const maxTokensName = newerLimitHostPattern.test(host) ? "max_completion_tokens" : "max_tokens";
  return withoutUndefined({
    model,
    messages: messages.map(toChatMessage),
    tools:
      tools.length === 0
        ? undefined
        : tools.map((tool) => ({ type: "function", function: withoutUndefined({ ...tool }) })),
    response_format:
      outputSchema === undefined ? undefined : { type: "json_schema", json_schema: outputSchema },
    temperature: settings.temperature,
    top_p: settings.topP,
    [maxTokensName]: settings.maxTokens,
    stop: settings.stop,
    seed: settings.seed,
    reasoning_effort: settings.reasoningEffort,
  });
}

function toChatMessage({ role, content, images = [], toolCalls = [], toolCallId }: ModelMessage) {
  // A message that only calls tools has no content.
  const text = content === "" && toolCalls.length > 0 ? null : content;
  const parts = [
    ...(content === "" ? [] : [{ type: "text", text: content }]),
    ...images.map((url) => ({ type: "image_url", image_url: { url } })),
  ];
  return withoutUndefined({
    role,
    content: images.length > 0 ? parts : text,
    tool_calls:
      toolCalls.length === 0
        ? undefined
        : toolCalls.map(({ id, name, arguments: args }) => ({
            id,
            type: "function",
            function: { name, arguments: args },
          })),
    tool_call_id: toolCallId,
  });
}

function readEvent(event: JsonObject, answer: AnswerBuilder): void {
  answer.model ??= toText(event["model"]);
  answer.usage = readUsage(event["usage"]) ?? answer.usage;
  const error = event["error"];
  if (error !== undefined && error !== null) {
    answer.error ??= toText(toObject(error)["message"]) ?? toText(error) ?? JSON.stringify(error);
  }
  const choice = toObject(toList(event["choices"])[0]);
  const delta = toObject(choice["delta"] ?? choice["message"]);
  answer.addThinking(toText(delta["reasoning_content"] ?? delta["reasoning"]) ?? "");
  answer.addText(readContent(delta["content"]) + (toText(delta["refusal"]) ?? ""));
  toList(delta["tool_calls"]).forEach((item, position) => {
    const call = toObject(item);
    const key = String(toCount(call["index"]) ?? position);
    const { name, arguments: text } = toObject(call["function"]);
    if (typeof name === "string" && name !== "") {
      answer.startToolCall(key, { id: toText(call["id"]) ?? `call_${key}`, name });
    }
    answer.addArguments(
      key,
      typeof text === "object" ? JSON.stringify(text) : (toText(text) ?? ""),
    );
  });
  const reason = toText(choice["finish_reason"]);
  if (reason !== undefined) {
    answer.finishReason = finishReasons.get(reason) ?? "other";
    answer.isFinished = true;
  }
}

const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ["stop", "stop"],
  ["length", "length"],
  ["tool_calls", "toolCalls"],
  ["function_call", "toolCalls"],
  ["content_filter", "filtered"],
]);

/** Reads a content that is a text, or a list of parts. */
const readContent = (content: unknown): string =>
  toText(content) ??
  toList(content)
    .map((part) => toText(toObject(part)["text"]) ?? "")
    .join("");

function readUsage(value: unknown): ModelUsage | undefined {
  const usage = toObject(value);
  const inputTokens = toCount(usage["prompt_tokens"]);
  const outputTokens = toCount(usage["completion_tokens"]);
  return inputTokens === undefined || outputTokens === undefined
    ? undefined
    : {
        inputTokens,
        outputTokens,
        cacheRead: toCount(toObject(usage["prompt_tokens_details"])["cached_tokens"]) ?? 0,
        cacheWrite: 0,
        reasoning: toCount(toObject(usage["completion_tokens_details"])["reasoning_tokens"]) ?? 0,
      };
}
