import { toJson } from "./json-text.ts";

/** A chat message in the form that runs show: `role`, `content`, `tool_calls`, and whatever else it has. */
export type Message = Readonly<Record<string, unknown>>;

/** Whether all items look like chat messages. */
export const areMessages = (items: readonly unknown[]): boolean =>
  items.length > 0 &&
  items.every((item) => isObject(item) && ("role" in item || "message" in item));

/**
 * Messages of the conventions in use, in one form: the parts of `gen_ai.input.messages`, the indexed
 * names of older versions, and those of OpenInference. What has that form already stays as it is.
 */
export const toMessages = (items: readonly unknown[]): readonly Message[] =>
  items.flatMap((item) => {
    if (!isObject(item)) {
      return [{ content: item }];
    }
    const { message, ...rest } = item;
    return toMessage(isObject(message) ? { ...rest, ...message } : item);
  });

function toMessage({ parts, contents, tool_calls: calls, ...rest }: Message): readonly Message[] {
  const toolCalls = Array.isArray(calls) ? calls.map(toToolCall) : [];
  if (Array.isArray(parts)) {
    return fromParts(rest, parts, toolCalls);
  }
  return [
    {
      ...rest,
      ...(Array.isArray(contents) ? { content: contents.map(toContent) } : {}),
      ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
    },
  ];
}

/** Parts (semantic conventions, "gen_ai.input.messages"). What tools answered are messages of their own. */
function fromParts(
  message: Message,
  parts: readonly unknown[],
  toolCalls: readonly unknown[],
): readonly Message[] {
  const answers = parts.filter((part) => typeOf(part) === "tool_call_response");
  const calls = parts.filter((part) => typeOf(part) === "tool_call");
  const others = parts.filter((part) => !answers.includes(part) && !calls.includes(part));
  const allCalls = [...toolCalls, ...calls.map(toToolCall)];
  const messages: Message[] = answers.map((answer) => toToolMessage(message, answer));
  if (others.length > 0 || allCalls.length > 0 || answers.length === 0) {
    messages.push({
      ...message,
      content: toPartsContent(others),
      ...(allCalls.length === 0 ? {} : { tool_calls: allCalls }),
    });
  }
  return messages;
}

function toToolMessage(message: Message, answer: unknown): Message {
  const { type: _, id, response, result, ...rest } = isObject(answer) ? answer : {};
  return { ...message, ...rest, role: "tool", tool_call_id: id, content: response ?? result };
}

/** The content of parts that are no tool calls: a text alone is a text. */
export function toPartsContent(parts: readonly unknown[]): unknown {
  const contents = parts.map((part) =>
    isObject(part) && part["type"] === "text" && "content" in part
      ? { type: "text", text: part["content"] }
      : part,
  );
  const [first] = contents;
  if (first === undefined) {
    return "";
  }
  return contents.length === 1 && isObject(first) && typeof first["text"] === "string"
    ? first["text"]
    : contents;
}

/** `message_content` of OpenInference. */
function toContent(item: unknown): unknown {
  const content = isObject(item) ? (item["message_content"] ?? item) : item;
  if (!isObject(content) || !("image" in content)) {
    return content;
  }
  const { image, ...rest } = content;
  const inner = isObject(image) ? (image["image"] ?? image) : image;
  return { ...rest, type: "image_url", image_url: inner };
}

function toToolCall(item: unknown): unknown {
  const call = isObject(item) ? (item["tool_call"] ?? item) : item;
  if (!isObject(call)) {
    return call;
  }
  const { id, name, arguments: given, function: named, ...rest } = call;
  const called = isObject(named) ? named : { name, arguments: given };
  return {
    ...rest,
    ...(id === undefined ? {} : { id }),
    type: "function",
    function: { ...called, arguments: toArguments(called["arguments"]) },
  };
}

const toArguments = (value: unknown): unknown =>
  value === undefined || typeof value === "string" ? value : toJson(value);

const typeOf = (part: unknown): unknown => (isObject(part) ? part["type"] : undefined);

const isObject = (value: unknown): value is Message =>
  typeof value === "object" && value !== null && !Array.isArray(value);
