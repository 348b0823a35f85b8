import { toImage } from "./image-parts.ts";
import { toJson } from "./json-text.ts";

/** A chat message in the form that runs use: `role`, `content`, `tool_calls`, and any other members. */
export type Message = Readonly<Record<string, unknown>>;

/** Whether all items look like chat messages. */
export const areMessages = (items: readonly unknown[]): boolean =>
  items.length > 0 &&
  items.every((item) => isObject(item) && ("role" in item || "message" in item));

/**
 * Converts messages to one form. They can follow any of the common conventions: `gen_ai.input.messages` with its
 * parts, the indexed attribute names of older versions, or the attribute names of OpenInference. A message that
 * already has this form is not changed.
 */
export const toMessages = (items: readonly unknown[]): readonly Message[] =>
  items.flatMap((item) => {
    if (!isObject(item)) {
      return [{ content: item }];
    }
    const { message, ...otherMembers } = item;
    return toMessage(isObject(message) ? { ...otherMembers, ...message } : item);
  });

function toMessage({
  parts,
  contents,
  tool_calls: calls,
  ...otherMembers
}: Message): readonly Message[] {
  const toolCalls = Array.isArray(calls) ? calls.map(toToolCall) : [];
  if (Array.isArray(parts)) {
    return convertParts(otherMembers, parts, toolCalls);
  }
  return [
    {
      ...otherMembers,
      ...(Array.isArray(contents) ? { content: contents.map(toContent) } : {}),
      ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
    },
  ];
}

/**
 * Converts a message with parts (semantic conventions, "gen_ai.input.messages"). Results of tools become messages
 * of their own.
 */
function convertParts(
  message: Message,
  parts: readonly unknown[],
  toolCalls: readonly unknown[],
): readonly Message[] {
  const toolResults = parts.filter((part) => readType(part) === "tool_call_response");
  const calls = parts.filter((part) => readType(part) === "tool_call");
  const otherParts = parts.filter((part) => !toolResults.includes(part) && !calls.includes(part));
  const allCalls = [...toolCalls, ...calls.map(toToolCall)];
  const messages: Message[] = toolResults.map((toolResult) => toToolMessage(message, toolResult));
  if (otherParts.length > 0 || allCalls.length > 0 || toolResults.length === 0) {
    messages.push({
      ...message,
      content: toPartsContent(otherParts),
      ...(allCalls.length === 0 ? {} : { tool_calls: allCalls }),
    });
  }
  return messages;
}

function toToolMessage(message: Message, toolResult: unknown): Message {
  const { type: _, id, response, result, ...otherMembers } = isObject(toolResult) ? toolResult : {};
  return {
    ...message,
    ...otherMembers,
    role: "tool",
    tool_call_id: id,
    content: response ?? result,
  };
}

/** Creates the content of a message from parts. A single text part becomes a string. */
export function toPartsContent(parts: readonly unknown[]): unknown {
  const contents = parts.map(toPartContent);
  const [first] = contents;
  if (first === undefined) {
    return "";
  }
  const isText = isObject(first) && first["type"] === "text" && typeof first["text"] === "string";
  // A part with further members, such as a cache marker, must stay an object, or they would be lost.
  return contents.length === 1 && isText && Object.keys(first).length === 2
    ? first["text"]
    : contents;
}

/**
 * Converts a part of a message. In the conventions, the text of a part is its member `content`; in the form that runs
 * use, it is `text`. An image is converted to the form of OpenAI's API.
 */
function toPartContent(part: unknown): unknown {
  if (!isObject(part)) {
    return part;
  }
  const { type, content, ...otherMembers } = part;
  return (type === "text" || type === "reasoning") && "content" in part
    ? { type, ...otherMembers, text: content }
    : (toImage(part) ?? part);
}

/** Converts the member `message_content` of OpenInference. */
function toContent(item: unknown): unknown {
  const content = isObject(item) ? (item["message_content"] ?? item) : item;
  if (!isObject(content) || !("image" in content)) {
    return content;
  }
  const { image, ...otherMembers } = content;
  const inner = isObject(image) ? (image["image"] ?? image) : image;
  return { ...otherMembers, type: "image_url", image_url: inner };
}

function toToolCall(item: unknown): unknown {
  const call = isObject(item) ? (item["tool_call"] ?? item) : item;
  if (!isObject(call)) {
    return call;
  }
  const { id, name, arguments: callArguments, function: functionObject, ...otherMembers } = call;
  const functionCall = isObject(functionObject)
    ? functionObject
    : { name, arguments: callArguments };
  return {
    ...otherMembers,
    ...(id === undefined ? {} : { id }),
    type: "function",
    function: { ...functionCall, arguments: toArguments(functionCall["arguments"]) },
  };
}

const toArguments = (value: unknown): unknown =>
  value === undefined || typeof value === "string" ? value : toJson(value);

const readType = (part: unknown): unknown => (isObject(part) ? part["type"] : undefined);

const isObject = (value: unknown): value is Message =>
  typeof value === "object" && value !== null && !Array.isArray(value);
