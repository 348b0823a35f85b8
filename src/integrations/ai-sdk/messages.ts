import type { KeyValues } from "../../main/index.ts";
import { isList, isObject, readText, withoutUndefined } from "./values.ts";

/**
 * Converts messages of the AI SDK to the format in which chats are recorded, with `role`, `content` and `tool_calls`.
 * `value` is a string, a message or a list of messages. A string becomes a message with the role `role`.
 */
export const toChatMessages = (value: unknown, role = "user"): readonly KeyValues[] => {
  if (value === undefined || value === null) {
    return [];
  }
  const messages = isList(value) ? value : [value];
  return messages.flatMap((message) =>
    isObject(message) ? toMessages(message) : [{ role, content: message }],
  );
};

/** Converts the content that a model generated to a message. */
export const toAssistantMessage = (content: readonly unknown[]): KeyValues =>
  createMessage(
    { role: "assistant" },
    // The results of tools that the AI SDK executed belong to the runs of the tools.
    content.filter((part) => !toolResultTypes.has(readType(part))),
  );

const toolResultTypes: ReadonlySet<unknown> = new Set(["tool-result", "tool-error"]);

function toMessages({ content, ...otherMembers }: KeyValues): readonly KeyValues[] {
  if (!isList(content)) {
    return [{ ...otherMembers, content }];
  }
  const results = content.filter((part) => readType(part) === "tool-result");
  const parts = content.filter((part) => !results.includes(part));
  const messages = results.map((result) => toToolMessage(result));
  return parts.length > 0 || results.length === 0
    ? [...messages, createMessage(otherMembers, parts)]
    : messages;
}

function createMessage(members: KeyValues, parts: readonly unknown[]): KeyValues {
  const calls = parts.filter((part) => readType(part) === "tool-call");
  const contents = parts.filter((part) => !calls.includes(part)).map(toContent);
  return {
    ...members,
    content: contents.length === 0 ? "" : unwrapText(contents),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(toToolCall) }),
  };
}

/**
 * Returns the text if a single text part is the only content, unless the part has more members, such as a cache marker.
 * Otherwise returns the list of parts.
 */
function unwrapText(contents: readonly unknown[]): unknown {
  const [first] = contents;
  const isText = isObject(first) && first["type"] === "text" && Object.keys(first).length === 2;
  return contents.length === 1 && isText ? first["text"] : contents;
}

/**
 * Converts a tool's result in a prompt to a message. In the AI SDK, `output.type` says whether the result is text,
 * JSON or an error.
 */
function toToolMessage(part: unknown): KeyValues {
  const { toolCallId, toolName, output, result } = isObject(part) ? part : {};
  const value = output ?? result;
  const isWrapped = isObject(value) && "value" in value && typeof value["type"] === "string";
  const isError = isWrapped && String(value["type"]).startsWith("error-");
  return {
    role: "tool",
    tool_call_id: toolCallId,
    name: toolName,
    content: isWrapped ? value["value"] : value,
    ...(isError ? { is_error: true } : {}),
  };
}

function toToolCall(part: unknown): KeyValues {
  const { toolCallId, toolName, input, args } = isObject(part) ? part : {};
  const callArguments = input ?? args;
  return {
    id: toolCallId,
    type: "function",
    function: { name: toolName, arguments: readText(callArguments) ?? toJson(callArguments) },
  };
}

function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined; // The value is circular. The tool's own run still contains its inputs.
  }
}

/**
 * Converts a part of a message that is not a tool call. Binary data is kept, and the client attaches it to the run if
 * it is large.
 */
function toContent(part: unknown): unknown {
  if (!isObject(part)) {
    return part;
  }
  switch (part["type"]) {
    case "text":
    case "reasoning":
      return withoutUndefined(part);
    case "image":
    case "file":
      return toFile(part);
    default:
      return part;
  }
}

/**
 * Converts a file. An image that was passed as a URL or as base64 becomes an `image_url`, the common format of images
 * in chats.
 */
function toFile(part: KeyValues): unknown {
  const file = isObject(part["file"]) ? part["file"] : part;
  const data = file["uint8Array"] ?? part["image"] ?? part["data"] ?? file["base64"];
  const mediaType = readText(file["mediaType"] ?? part["mediaType"] ?? part["mimeType"]);
  const isImage = part["type"] === "image" || mediaType?.startsWith("image/") === true;
  const address = data instanceof URL ? data.href : readText(data);
  if (isImage && address !== undefined) {
    const url = /^(?:https?|data):/i.test(address)
      ? address
      : `data:${mediaType ?? "image/*"};base64,${address}`;
    return { type: "image_url", image_url: { url } };
  }
  const filename = part["filename"];
  return withoutUndefined({ type: part["type"], media_type: mediaType, filename, data });
}

const readType = (part: unknown): unknown => (isObject(part) ? part["type"] : undefined);
