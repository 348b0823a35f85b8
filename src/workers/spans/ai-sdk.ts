import type { AttributeBag } from "./attribute-bag.ts";
import { JsonText, parseJson, readJson, readMembers } from "./json-text.ts";
import { toMessages } from "./messages.ts";
import type { AttributeValue } from "./span.ts";

// The attributes `ai.*` of the AI SDK (npm package `ai`, versions 4 to 6). Most of their values are JSON texts.

type Members = Readonly<Record<string, unknown>>;

/** Returns the operation that a span of the AI SDK records, such as `ai.generateText.doGenerate`. */
export function readAiOperation(bag: AttributeBag): string | undefined {
  const operation = bag.peekText("ai.operationId");
  return operation?.startsWith("ai.") === true ? operation : undefined;
}

/** Run types by the end of the operation's name. An operation that calls no model itself is a chain. */
const runTypesByEnding: readonly (readonly [string, string])[] = [
  [".doGenerate", "llm"],
  [".doStream", "llm"],
  [".doEmbed", "embedding"],
  [".doRerank", "retriever"],
  ["ai.toolCall", "tool"],
];

/** Returns the run type of a span of the AI SDK; `undefined` for other spans. */
export function toAiRunType(bag: AttributeBag): string | undefined {
  const operation = readAiOperation(bag);
  return operation === undefined
    ? undefined
    : (runTypesByEnding.find(([ending]) => operation.endsWith(ending))?.[1] ?? "chain");
}

/**
 * Returns the name of a run: the tool's name, or the operation with the function id that the program set. `undefined`
 * for spans of other libraries.
 */
export const readAiName = (bag: AttributeBag): string | undefined =>
  readAiOperation(bag) === undefined
    ? undefined
    : bag.peekText("ai.toolCall.name", "operation.name");

/** Returns the inputs and outputs of a span of the AI SDK, and removes them from its attributes. */
export function takeAiContent(bag: AttributeBag): { inputs: Members; outputs: Members } {
  if (readAiOperation(bag) === undefined) {
    return { inputs: {}, outputs: {} };
  }
  return {
    inputs: {
      ...takePrompt(bag),
      ...takePromptMessages(bag),
      ...takeJsonList(bag, "texts", ["ai.value", "ai.values"]),
      ...takeJsonList(bag, "documents", ["ai.documents"]),
      ...takeObjectOrValue(bag, "ai.toolCall.args", "input"),
    },
    outputs: {
      ...takeResponse(bag),
      ...takeJsonList(bag, "embeddings", ["ai.embedding", "ai.embeddings"]),
      ...takeJsonList(bag, "ranking", ["ai.ranking"]),
      ...takeObjectOrValue(bag, "ai.toolCall.result", "output"),
    },
  };
}

/** Takes the prompt as the program passed it: `system`, and either `prompt` or `messages`. */
function takePrompt(bag: AttributeBag): Members {
  const value = bag.take("ai.prompt");
  if (value === undefined) {
    return {};
  }
  const parsed = parseText(value);
  if (!isObject(parsed)) {
    bag.warn("ai.prompt", "is not a JSON object", value);
    return { input: value };
  }
  const { system, prompt, messages, ...otherMembers } = parsed;
  const allMessages = [
    ...toMessageList(system, "system"),
    ...toMessageList(prompt, "user"),
    ...toMessageList(messages, "user"),
  ];
  return { ...otherMembers, messages: toMessages(allMessages.flatMap(toConventionMessage)) };
}

/** Returns a list of messages. `value` may be a text, one message or a list of messages. */
function toMessageList(value: unknown, role: string): readonly unknown[] {
  if (value === undefined || value === null) {
    return [];
  }
  if (Array.isArray(value)) {
    return value;
  }
  return [isObject(value) ? value : { role, content: value }];
}

/** Takes the messages as the model received them. */
function takePromptMessages(bag: AttributeBag): Members {
  const value = bag.take("ai.prompt.messages");
  if (value === undefined) {
    return {};
  }
  const parsed = parseText(value);
  if (!Array.isArray(parsed)) {
    bag.warn("ai.prompt.messages", "is not a JSON list", value);
    return { input: value };
  }
  return { messages: toMessages(parsed.flatMap(toConventionMessage)) };
}

/** Takes the response of a model: one message, or the generated object. */
function takeResponse(bag: AttributeBag): Members {
  const text = bag.take("ai.response.text", "ai.result.text");
  const reasoning = bag.take("ai.response.reasoning");
  const calls = takeToolCalls(bag);
  const object = takeObject(bag);
  if (text === undefined && reasoning === undefined && calls === undefined) {
    return object;
  }
  const parts = [
    ...(reasoning === undefined ? [] : [{ type: "reasoning", content: reasoning }]),
    ...(text === undefined ? [] : [{ type: "text", content: text }]),
    ...(calls ?? []).map(toConventionPart),
  ];
  return { ...object, messages: toMessages([{ role: "assistant", parts }]) };
}

function takeToolCalls(bag: AttributeBag): readonly unknown[] | undefined {
  const name = "ai.response.toolCalls";
  const parsed = parseText(bag.peek(name));
  if (Array.isArray(parsed)) {
    bag.take(name);
    return parsed.map((call: unknown) => (isObject(call) ? { ...call, type: "tool-call" } : call));
  }
  if (parsed !== undefined) {
    bag.warn(name, "is not a JSON list", parsed);
  }
  return undefined;
}

/** Takes a generated object. A model may have generated a text that is not JSON; it is kept as a text. */
function takeObject(bag: AttributeBag): Members {
  const name = "ai.response.object";
  const value = bag.take(name, "ai.result.object");
  if (value === undefined) {
    return {};
  }
  const json = typeof value === "string" ? readJson(value) : undefined;
  if (json === undefined) {
    bag.warn(name, "is not JSON", value);
  }
  return { object: json ?? value };
}

/**
 * Takes the first of the attributes as a list. An item that is JSON text becomes JSON; any other item stays as it is.
 */
function takeJsonList(bag: AttributeBag, member: string, names: readonly string[]): Members {
  const value = bag.take(...names);
  if (value === undefined) {
    return {};
  }
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  return {
    [member]: items.map((item) => (typeof item === "string" ? (readJson(item) ?? item) : item)),
  };
}

/** Takes the arguments or the result of a tool: the members of an object, or any other value as one member. */
function takeObjectOrValue(bag: AttributeBag, name: string, member: string): Members {
  const value = bag.take(name);
  if (value === undefined) {
    return {};
  }
  if (typeof value !== "string") {
    return isObject(value) ? value : { [member]: value };
  }
  const members = readMembers(value);
  if (members !== undefined) {
    return Object.fromEntries(members);
  }
  const json = readJson(value);
  if (json === undefined) {
    bag.warn(name, "is not JSON", value);
  }
  return { [member]: json ?? value };
}

/**
 * Converts a message of the AI SDK to the form of the semantic conventions, whose parts {@link toMessages} converts.
 */
function toConventionMessage(message: unknown): unknown {
  if (!isObject(message) || !Array.isArray(message["content"])) {
    return message;
  }
  const { content, ...otherMembers } = message;
  return { ...otherMembers, parts: content.map(toConventionPart) };
}

function toConventionPart(part: unknown): unknown {
  if (!isObject(part)) {
    return part;
  }
  const { type, toolCallId, toolName, ...otherMembers } = part;
  switch (type) {
    case "tool-call": {
      const { input, args, ...callMembers } = otherMembers;
      return {
        ...callMembers,
        type: "tool_call",
        id: toolCallId,
        name: toolName,
        arguments: input ?? args,
      };
    }
    case "tool-result": {
      const { output, result, ...resultMembers } = otherMembers;
      return {
        ...resultMembers,
        ...unwrapToolOutput(output ?? result),
        type: "tool_call_response",
        id: toolCallId,
        name: toolName,
      };
    }
    case "image":
    case "file":
      return toImagePart(part) ?? part;
    default:
      return part;
  }
}

/**
 * Returns the result of a tool. The AI SDK wraps it in an object whose `type` states whether it is a text, JSON, or an
 * error of either kind.
 */
function unwrapToolOutput(output: unknown): Members {
  if (!isObject(output) || !("value" in output) || typeof output["type"] !== "string") {
    return { response: output };
  }
  const isError = output["type"].startsWith("error-");
  return { response: output["value"], ...(isError ? { is_error: true } : {}) };
}

/** Converts an image to the form that messages have in all conventions; `undefined` if the part is not an image. */
function toImagePart(part: Members): unknown {
  const mediaType = part["mediaType"] ?? part["mimeType"];
  const type = typeof mediaType === "string" ? mediaType : "image/*";
  if (part["type"] === "file" && !type.startsWith("image/")) {
    return undefined;
  }
  const data = part["image"] ?? part["data"];
  const base64 = typeof data === "string" ? data : toBase64(data);
  if (base64 === undefined) {
    return undefined;
  }
  const url = /^(?:https?|data):/i.test(base64) ? base64 : `data:${type};base64,${base64}`;
  return { type: "image_url", image_url: { url } };
}

/**
 * Converts serialized bytes to base64. `JSON.stringify` writes a `Uint8Array` as an object with the indexes as keys,
 * and a `Buffer` as an object with the list `data`.
 */
function toBase64(value: unknown): string | undefined {
  if (!isObject(value)) {
    return undefined;
  }
  const bytes: readonly unknown[] = Array.isArray(value["data"])
    ? value["data"]
    : Object.keys(value).map((index, position) => index === String(position) && value[index]);
  return bytes.length > 0 && bytes.every(isByte)
    ? Buffer.from(bytes).toString("base64")
    : undefined;
}

const isByte = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 255;

/** Parses a JSON text; a text that is not JSON, or any other value, is returned unchanged. */
const parseText = (value: AttributeValue | undefined): unknown =>
  typeof value === "string" ? (parseJson(value) ?? value) : value;

const isObject = (value: unknown): value is Members =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof JsonText);
