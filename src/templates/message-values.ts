import { ValidationError } from "../model/errors.ts";
import type { KeyValues } from "../model/run.ts";
import { isObject, omitUndefined, promptRoles } from "./compiled-prompt.ts";
import type { PromptMessage, PromptPart, PromptRole, PromptToolCall } from "./compiled-prompt.ts";

/** Maximum nesting depth of lists in the value of a placeholder. */
const maxDepth = 32;

/** Names of the roles in other libraries. */
const roleAliases: Readonly<Record<string, PromptRole>> = {
  human: "user",
  ai: "assistant",
  model: "assistant",
  System: "system",
  Human: "user",
  AI: "assistant",
  Tool: "tool",
};

/** @throws `ValidationError` if there is no such role. */
export function parseRole(role: unknown): PromptRole {
  const knownRole = promptRoles.find((candidate) => candidate === role);
  const alias =
    typeof role === "string" && Object.hasOwn(roleAliases, role) ? roleAliases[role] : undefined;
  const foundRole = knownRole ?? alias;
  if (foundRole === undefined) {
    throw new ValidationError(
      `A message has the role ${describe(role)}. Use one of ${promptRoles.join(", ")}, human and ai`,
    );
  }
  return foundRole;
}

/**
 * Converts the value of a message placeholder: one message, or a list of messages, in which lists and compiled prompts
 * may be nested. A message may be a text of the user, `[role, text]`, `{ role, content }`, a message of LangChain, or
 * its serialized form.
 *
 * @throws `ValidationError` if an item is not a message.
 */
export function parseMessages(value: unknown, depth = 0): readonly PromptMessage[] {
  if (depth > maxDepth) {
    throw new ValidationError(`Lists of messages are nested more than ${maxDepth} times`);
  }
  if (isRoleAndText(value)) {
    return [{ role: parseRole(value[0]), content: value[1] }];
  }
  if (Array.isArray(value)) {
    return (value as readonly unknown[]).flatMap((item) => parseMessages(item, depth + 1));
  }
  if (isObject(value) && Array.isArray(value["messages"])) {
    return parseMessages(value["messages"], depth + 1);
  }
  return [parseMessage(value)];
}

const isRoleAndText = (value: unknown): value is readonly [string, string] =>
  Array.isArray(value) &&
  value.length === 2 &&
  value.every((item) => typeof item === "string") &&
  (promptRoles.includes(value[0] as PromptRole) || Object.hasOwn(roleAliases, value[0] as string));

/** @throws `ValidationError` if the value is not a message. */
export function parseMessage(value: unknown): PromptMessage {
  if (typeof value === "string") {
    return { role: "user", content: value };
  }
  if (!isObject(value)) {
    throw new ValidationError(
      `Expected a message such as { role: "user", content: "…" }, not ${describe(value)}`,
    );
  }
  const serialized = readSerialized(value);
  if (serialized !== undefined) {
    return toMessage(serialized.role, serialized.fields);
  }
  const { data, type } = value;
  if (isObject(data) && typeof type === "string") {
    // The form in which LangChain stores messages.
    return toMessage(type === "generic" ? data["role"] : type, data);
  }
  return toMessage(readRole(value), value);
}

/** Reads a message that was serialized by LangChain: `{ lc: 1, id: [..., "HumanMessage"], kwargs }`. */
function readSerialized({
  lc,
  id,
  kwargs,
}: KeyValues): { readonly role: unknown; readonly fields: KeyValues } | undefined {
  const name: unknown = Array.isArray(id) ? id.at(-1) : undefined;
  if (lc === undefined || typeof name !== "string") {
    return undefined;
  }
  const fields = isObject(kwargs) ? kwargs : {};
  const prefix = /^(.*?)Message(?:Chunk)?$/.exec(name)?.[1];
  return { role: prefix === "Chat" ? fields["role"] : (prefix ?? name), fields };
}

/** Reads the role of a message. LangChain's message objects return it from a method. */
function readRole(message: KeyValues): unknown {
  const { role, getType, _getType } = message;
  if (role !== undefined) {
    return role;
  }
  const method = typeof getType === "function" ? getType : _getType;
  return typeof method === "function" ? (Reflect.apply(method, message, []) as unknown) : undefined;
}

function toMessage(role: unknown, fields: KeyValues): PromptMessage {
  const name = fields["name"];
  const toolCallId = fields["tool_call_id"] ?? fields["toolCallId"];
  const toolCalls = readToolCalls(fields);
  return omitUndefined({
    role: parseRole(role),
    content: omitToolUse(parseContent(fields["content"] ?? ""), toolCalls),
    name: typeof name === "string" && name !== "" ? name : undefined,
    toolCalls: toolCalls.length === 0 ? undefined : toolCalls,
    toolCallId: typeof toolCallId === "string" ? toolCallId : undefined,
  });
}

/**
 * Removes the parts that are tool calls: messages that LangChain received from Anthropic contain each call in
 * `tool_calls` as well.
 */
function omitToolUse(
  content: PromptMessage["content"],
  toolCalls: readonly PromptToolCall[],
): PromptMessage["content"] {
  return typeof content === "string" || toolCalls.length === 0
    ? content
    : content.filter((part) => part.type !== "other" || part.value["type"] !== "tool_use");
}

/** @throws `ValidationError` if the content is neither a text nor a list of parts. */
function parseContent(content: unknown): string | readonly PromptPart[] {
  if (typeof content === "string") {
    return content;
  }
  if (!Array.isArray(content)) {
    throw new ValidationError(
      `The content of a message is ${describe(content)}. Use a text, or a list of parts`,
    );
  }
  return (content as readonly unknown[]).map((part) =>
    typeof part === "string" ? { type: "text", text: part } : parsePart(part),
  );
}

/** Converts a part in the form of this package, of LangChain or of a provider. */
export function parsePart(value: unknown): PromptPart {
  if (!isObject(value)) {
    throw new ValidationError(
      `A part of a message is ${describe(value)}. Use a text, or an object such as { type: "text", text: "…" }`,
    );
  }
  const { type, text, image_url: image, url, ...rest } = value;
  if (type === "text" && typeof text === "string") {
    const { extra, ...others } = rest;
    const members = { ...(isObject(extra) ? extra : {}), ...others };
    return Object.keys(members).length === 0 ? { type, text } : { type, text, extra: members };
  }
  if (type === "other" && isObject(rest["value"])) {
    return { type, value: rest["value"] };
  }
  const address = type === "image" ? url : readAddress(image);
  if ((type === "image" || type === "image_url") && typeof address === "string") {
    const detail = isObject(image) ? image["detail"] : rest["detail"];
    return { type: "image", url: address, ...(typeof detail === "string" ? { detail } : {}) };
  }
  return { type: "other", value };
}

const readAddress = (image: unknown): unknown => (isObject(image) ? image["url"] : image);

/** Reads tool calls in the form of this package, of LangChain or of OpenAI. */
function readToolCalls(fields: KeyValues): readonly PromptToolCall[] {
  const { additional_kwargs: additional } = fields;
  const lists = [
    fields["toolCalls"],
    fields["tool_calls"],
    isObject(additional) ? additional["tool_calls"] : undefined,
  ];
  const calls = lists.find((list) => Array.isArray(list) && list.length > 0);
  return ((calls ?? []) as readonly unknown[]).map(parseToolCall);
}

function parseToolCall(call: unknown): PromptToolCall {
  const { id, name, args, arguments: parsed, function: functionCall } = isObject(call) ? call : {};
  const callee = isObject(functionCall) ? functionCall : { name, arguments: parsed ?? args };
  const toolName = callee["name"];
  const toolArguments = parseArguments(callee["arguments"]);
  if (typeof toolName !== "string" || toolArguments === undefined) {
    throw new ValidationError(
      "A tool call in a message has no name, or its arguments are not an object",
    );
  }
  return { id: typeof id === "string" ? id : "", name: toolName, arguments: toolArguments };
}

function parseArguments(value: unknown): KeyValues | undefined {
  if (typeof value !== "string") {
    return isObject(value) ? value : undefined;
  }
  try {
    const parsed: unknown = JSON.parse(value);
    return isObject(parsed) ? parsed : undefined;
  } catch {
    // The caller reports that the arguments are not an object.
    return undefined;
  }
}

/** Describes a value for an error message: a text by its first 64 characters, any other value by its type. */
export function describe(value: unknown): string {
  if (typeof value === "string") {
    return JSON.stringify(value.slice(0, 64));
  }
  if (value === null || value === undefined) {
    return String(value);
  }
  return Array.isArray(value) ? "a list" : `a value of type ${typeof value}`;
}
