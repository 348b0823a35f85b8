import { toImagePart } from "./image-part.ts";
import type { ImagePart } from "./image-part.ts";
import { firstText, isObject, toItems, toMembers, toText } from "./json-value.ts";
import type { Members } from "./json-value.ts";

/** A part of a message, in the form of OpenTelemetry's conventions for generative AI. */
export type MessagePart =
  | { readonly type: "text"; readonly content: string }
  | { readonly type: "reasoning"; readonly content: string }
  | {
      readonly type: "tool_call";
      readonly id?: string;
      readonly name: string;
      readonly arguments: unknown;
    }
  | { readonly type: "tool_call_response"; readonly id?: string; readonly response: unknown }
  | ImagePart
  | { readonly type: "other"; readonly value: Members };

/** A chat message, independent of the API that it comes from. */
export interface ChatMessage {
  readonly role: string;
  readonly parts: readonly MessagePart[];
  readonly name?: string;
  /** Why the model stopped. */
  readonly finishReason?: string;
}

/** Roles by the names that LangChain and Gemini use. */
const roles: Readonly<Record<string, string>> = {
  human: "user",
  ai: "assistant",
  model: "assistant",
  function: "tool",
  HumanMessage: "user",
  AIMessage: "assistant",
  AIMessageChunk: "assistant",
  SystemMessage: "system",
  ToolMessage: "tool",
};

const toRole = (name: string): string => (Object.hasOwn(roles, name) ? roles[name] : name) ?? name;

/**
 * Converts messages in the form of OpenAI's, Anthropic's or Gemini's API, of LangChain, or plain texts. `role` is used
 * for messages that have none.
 */
export const toChatMessages = (value: unknown, role: string): readonly ChatMessage[] => {
  if (typeof value === "string") {
    return value === "" ? [] : [{ role, parts: [{ type: "text", content: value }] }];
  }
  // LangChain has a list of conversations, each a list of messages.
  const items = Array.isArray(value) ? (value as readonly unknown[]).flat() : [value];
  return items.flatMap((item) => {
    if (typeof item === "string") {
      return toChatMessages(item, role);
    }
    return isObject(item) ? toMessage(unwrap(item), role) : [];
  });
};

/** Returns the message in a choice of OpenAI's API, a generation of LangChain, or a serialized object of LangChain. */
function unwrap(item: Members): Members {
  const { message, kwargs, id } = item;
  if (isObject(message)) {
    return { ...unwrap(message), finish_reason: item["finish_reason"] ?? message["finish_reason"] };
  }
  if (isObject(kwargs)) {
    const className = firstText(toItems(id).at(-1));
    return className === undefined ? kwargs : { role: toRole(className), ...kwargs };
  }
  // A candidate of Gemini's API.
  const { content } = item;
  return isObject(content) && Array.isArray(content["parts"])
    ? { ...content, finish_reason: item["finishReason"] }
    : item;
}

function toMessage(item: Members, defaultRole: string): readonly ChatMessage[] {
  const { type } = item;
  // Items of OpenAI's Responses API that are not messages.
  if (type === "function_call" || type === "function_call_output" || type === "reasoning") {
    const role = type === "function_call_output" ? "tool" : "assistant";
    return [{ role, parts: toParts([item]) }];
  }
  // Gemini's API also accepts parts in place of messages.
  const image = item["role"] === undefined ? toImagePart(item) : undefined;
  if (image !== undefined) {
    return [{ role: defaultRole, parts: [image] }];
  }
  const ownRole = firstText(item["role"], type === "message" ? undefined : type);
  const role = ownRole === undefined ? defaultRole : toRole(ownRole);
  const content = item["parts"] ?? item["content"] ?? item["text"];
  const parts = [
    ...toReasoning(item["reasoning_content"]),
    ...(role === "tool" ? toToolResponse(item, content) : toParts(content)),
    ...toItems(item["tool_calls"]).flatMap(toToolCall),
  ];
  const name = firstText(item["name"]);
  const finishReason = firstText(item["finish_reason"], item["stop_reason"]);
  return [
    {
      role,
      parts,
      ...(name === undefined ? {} : { name }),
      ...(finishReason === undefined ? {} : { finishReason }),
    },
  ];
}

const toReasoning = (content: unknown): readonly MessagePart[] =>
  typeof content === "string" && content !== "" ? [{ type: "reasoning", content }] : [];

/** Converts the content of a message with the role `tool`. In Gemini's API the response is in a part of the content. */
function toToolResponse(item: Members, content: unknown): readonly MessagePart[] {
  const hasResponsePart = toItems(content).some(
    (part) => toMembers(part)["functionResponse"] !== undefined,
  );
  return hasResponsePart ? toParts(content) : [createResponse(item["tool_call_id"], content)];
}

const createResponse = (id: unknown, response: unknown): MessagePart => ({
  type: "tool_call_response",
  ...(typeof id === "string" ? { id } : {}),
  response: response ?? "",
});

/** Converts the content of a message: a text, or a list of parts. */
export function toParts(content: unknown): readonly MessagePart[] {
  if (typeof content === "string") {
    return content === "" ? [] : [{ type: "text", content }];
  }
  const items = Array.isArray(content) ? (content as readonly unknown[]) : [content];
  return items.flatMap((item) => (isObject(item) ? toPart(item) : toParts(toPartText(item))));
}

const toPartText = (item: unknown): string =>
  item === undefined || item === null ? "" : toText(item);

function toPart(item: Members): readonly MessagePart[] {
  const { type, text, functionCall, functionResponse } = item;
  if (isObject(functionCall)) {
    return [createCall(functionCall["id"], functionCall["name"], functionCall["args"])];
  }
  if (isObject(functionResponse)) {
    return [createResponse(functionResponse["id"], functionResponse["response"])];
  }
  switch (type) {
    case "tool_use":
      return [createCall(item["id"], item["name"], item["input"])];
    case "function_call":
      return [createCall(item["call_id"] ?? item["id"], item["name"], item["arguments"])];
    case "tool_result":
      return [createResponse(item["tool_use_id"], item["content"])];
    case "function_call_output":
      return [createResponse(item["call_id"], item["output"])];
    case "thinking":
      return toReasoning(item["thinking"]);
    case "reasoning":
      return toItems(item["summary"]).flatMap((part) => toReasoning(toMembers(part)["text"]));
    default:
      if (typeof text === "string") {
        return item["thought"] === true ? toReasoning(text) : toParts(text);
      }
      return [toImagePart(item) ?? { type: "other", value: item }];
  }
}

/** Converts a tool call of OpenAI's API or of LangChain. */
function toToolCall(call: unknown): readonly MessagePart[] {
  if (!isObject(call)) {
    return [];
  }
  const { function: functionMembers } = call;
  return isObject(functionMembers)
    ? [createCall(call["id"], functionMembers["name"], functionMembers["arguments"])]
    : [createCall(call["id"], call["name"], call["args"] ?? call["arguments"])];
}

const createCall = (id: unknown, name: unknown, args: unknown): MessagePart => ({
  type: "tool_call",
  ...(typeof id === "string" && id !== "" ? { id } : {}),
  name: typeof name === "string" ? name : "",
  arguments: typeof args === "string" ? parseArguments(args) : (args ?? {}),
});

function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // A model may write arguments that are not JSON. They are then recorded as text.
    return text;
  }
}
