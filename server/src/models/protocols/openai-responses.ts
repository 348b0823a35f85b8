import type { AnswerBuilder } from "../answer-builder.ts";
import { toCount } from "../../runs/usage/usage-sources.ts";
import { toList, toObject, toText, withoutUndefined } from "../json-value.ts";
import type { JsonObject } from "../json-value.ts";
import type { FinishReason, ModelUsage } from "../model-answer.ts";
import type { ModelMessage, ModelRequest } from "../model-request.ts";
import type { Protocol } from "./protocol.ts";

/** OpenAI's Responses API. */
export const openAiResponses: Protocol = {
  createHeaders: (key) => (key === undefined ? {} : { authorization: `Bearer ${key}` }),
  createBody,
  readEvent,
  readResponse,
};

function createBody(request: ModelRequest): JsonObject {
  const { model, messages, tools = [], outputSchema, settings = {} } = request;
  return withoutUndefined({
    model,
    input: messages.flatMap(toInputItems),
    tools: tools.length === 0 ? undefined : tools.map((tool) => ({ type: "function", ...tool })),
    text:
      outputSchema === undefined ? undefined : { format: { type: "json_schema", ...outputSchema } },
    temperature: settings.temperature,
    top_p: settings.topP,
    max_output_tokens: settings.maxTokens,
    reasoning:
      settings.reasoningEffort === undefined ? undefined : { effort: settings.reasoningEffort },
    // Ask the provider not to store the request and its answer.
    store: false,
    stream: true,
  });
}

function toInputItems(message: ModelMessage): readonly JsonObject[] {
  const { role, content, images = [], toolCalls = [], toolCallId } = message;
  if (role === "tool") {
    return [{ type: "function_call_output", call_id: toolCallId ?? "", output: content }];
  }
  const textType = role === "assistant" ? "output_text" : "input_text";
  const parts = [
    ...(content === "" ? [] : [{ type: textType, text: content }]),
    ...images.map((url) => ({ type: "input_image", image_url: url })),
  ];
  return [
    ...(parts.length === 0 && toolCalls.length > 0 ? [] : [{ role, content: parts }]),
    ...toolCalls.map(({ id, name, arguments: text }) => ({
      type: "function_call",
      call_id: id,
      name,
      arguments: text,
    })),
  ];
}

function readEvent(event: JsonObject, answer: AnswerBuilder): void {
  const key = toText(event["item_id"]) ?? String(toCount(event["output_index"]) ?? 0);
  switch (event["type"]) {
    case "response.output_text.delta":
    case "response.refusal.delta":
      answer.addText(toText(event["delta"]) ?? "");
      break;
    case "response.reasoning_summary_text.delta":
    case "response.reasoning_text.delta":
      answer.addThinking(toText(event["delta"]) ?? "");
      break;
    case "response.output_item.added":
    case "response.output_item.done":
      readToolCall(toObject(event["item"]), answer);
      break;
    case "response.function_call_arguments.delta":
      answer.addArguments(key, toText(event["delta"]) ?? "");
      break;
    case "response.completed":
    case "response.incomplete":
    case "response.failed":
      finish(toObject(event["response"]), answer);
      break;
    case "error":
      answer.error ??=
        toText(event["message"]) ?? toText(toObject(event["error"])["message"]) ?? "";
      break;
    default:
      // The other events repeat what these contain.
      break;
  }
}

/** Adds a call. Its arguments are added only if they did not arrive in parts before. */
function readToolCall(item: JsonObject, answer: AnswerBuilder): void {
  if (item["type"] !== "function_call") {
    return;
  }
  const key = toText(item["id"]) ?? toText(item["call_id"]) ?? "";
  const id = toText(item["call_id"]) ?? key;
  answer.startToolCall(key, { id, name: toText(item["name"]) ?? "" });
  if (!answer.hasArguments(key)) {
    answer.addArguments(key, toText(item["arguments"]) ?? "");
  }
}

const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ["max_output_tokens", "length"],
  ["content_filter", "filtered"],
]);

function finish(response: JsonObject, answer: AnswerBuilder): void {
  answer.model = toText(response["model"]) ?? answer.model;
  answer.usage = readUsage(response["usage"]) ?? answer.usage;
  const reason = toText(toObject(response["incomplete_details"])["reason"]);
  if (response["status"] === "failed") {
    answer.error ??= toText(toObject(response["error"])["message"]) ?? "the response failed";
  } else if (reason === undefined) {
    answer.finishReason = answer.toolCalls.length > 0 ? "toolCalls" : "stop";
  } else {
    answer.finishReason = finishReasons.get(reason) ?? "other";
  }
  answer.isFinished = true;
}

function readResponse(response: JsonObject, answer: AnswerBuilder): void {
  for (const value of toList(response["output"])) {
    const item = toObject(value);
    readToolCall(item, answer);
    for (const part of toList(item["content"]).map(toObject)) {
      answer.addText(toText(part["text"]) ?? toText(part["refusal"]) ?? "");
    }
    for (const part of toList(item["summary"]).map(toObject)) {
      answer.addThinking(toText(part["text"]) ?? "");
    }
  }
  if (Array.isArray(response["output"])) {
    finish(response, answer);
  }
}

function readUsage(value: unknown): ModelUsage | undefined {
  const usage = toObject(value);
  const inputTokens = toCount(usage["input_tokens"]);
  const outputTokens = toCount(usage["output_tokens"]);
  return inputTokens === undefined || outputTokens === undefined
    ? undefined
    : {
        inputTokens,
        outputTokens,
        cacheRead: toCount(toObject(usage["input_tokens_details"])["cached_tokens"]) ?? 0,
        cacheWrite: 0,
        reasoning: toCount(toObject(usage["output_tokens_details"])["reasoning_tokens"]) ?? 0,
      };
}
